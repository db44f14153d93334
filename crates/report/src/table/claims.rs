//! The claims of an article.

use comfy_table::ContentArrangement;

use super::{WIDTH, plain, titled, wrapped};
use crate::Claim;

/// Each claim with the article's number, ours, and whether it holds.
pub(super) fn render(claims: &[Claim]) -> String {
    if claims.is_empty() {
        return String::new();
    }
    let mut table = plain(&["figure", "claim", "article", "limit", "ours", ""].map(str::to_owned));
    table.set_content_arrangement(ContentArrangement::Dynamic).set_width(WIDTH);
    for claim in claims {
        table.add_row([
            &claim.figure,
            &claim.statement,
            claim.article_or_ours(),
            &claim.limit,
            &claim.ours,
            claim.verdict(),
        ]);
    }
    let mut text = titled("Claims", &table);
    for claim in claims.iter().filter(|claim| !claim.note.is_empty()) {
        text += &wrapped("  ", &format!("{}: {}", claim.id, claim.note));
    }
    text
}
