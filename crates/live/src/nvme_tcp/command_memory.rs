//! The bound on the data of commands that all hosts together have a target hold.
//!
//! Each connection has a share of its own, which nobody else can use up, and beside it a common
//! part that is for whoever asks first. A share has room for the largest command, so a connection
//! whose host goes on goes on itself, whatever others hold; a host that never reads or never sends
//! stops its own connection and no other.

/// What a connection holds for one purpose, and how much of that is its own share.
#[derive(Clone, Copy, Debug)]
pub(super) struct Account {
    held_bytes: u64,
    share_bytes: u64,
}

impl Account {
    /// Nothing held of a share.
    pub(super) const fn new(share_bytes: u64) -> Self {
        Self { held_bytes: 0, share_bytes }
    }

    /// What of it is in the common part.
    const fn beyond_share(&self) -> u64 {
        self.held_bytes.saturating_sub(self.share_bytes)
    }
}

/// The common part.
#[derive(Debug)]
pub(super) struct CommandMemory {
    common_bytes: u64,
    used_bytes: u64,
}

impl CommandMemory {
    pub(super) const fn new(common_bytes: u64) -> Self {
        Self { common_bytes, used_bytes: 0 }
    }

    /// What is free of the common part.
    pub(super) const fn common_room_bytes(&self) -> u64 {
        self.common_bytes.saturating_sub(self.used_bytes)
    }

    /// What an account may hold in addition.
    pub(super) const fn room_bytes(&self, account: &Account) -> u64 {
        self.common_room_bytes() + account.share_bytes.saturating_sub(account.held_bytes)
    }

    /// An account holds more, whether there is room or not.
    pub(super) const fn take(&mut self, account: &mut Account, bytes: u64) {
        let before = account.beyond_share();
        account.held_bytes += bytes;
        self.used_bytes += account.beyond_share() - before;
    }

    /// An account holds less.
    pub(super) const fn give(&mut self, account: &mut Account, bytes: u64) {
        let before = account.beyond_share();
        account.held_bytes = account.held_bytes.saturating_sub(bytes);
        self.used_bytes -= before - account.beyond_share();
    }

    /// An account gets another share.
    pub(super) const fn set_share(&mut self, account: &mut Account, share_bytes: u64) {
        let before = account.beyond_share();
        account.share_bytes = share_bytes;
        self.used_bytes = self.used_bytes - before + account.beyond_share();
    }

    /// An account is closed. What is still needed of it counts as common from now on.
    pub(super) const fn close(&mut self, account: Account, still_needed_bytes: u64) {
        self.used_bytes = self.used_bytes - account.beyond_share() + still_needed_bytes;
    }

    /// So much of what was still needed is not any more.
    pub(super) const fn give_common(&mut self, bytes: u64) {
        self.used_bytes = self.used_bytes.saturating_sub(bytes);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_share_is_there_whatever_others_hold() {
        let mut memory = CommandMemory::new(1000);
        let (mut greedy, mut modest) = (Account::new(100), Account::new(100));
        memory.take(&mut greedy, 1100);
        assert_eq!((memory.room_bytes(&greedy), memory.room_bytes(&modest)), (0, 100));
        memory.take(&mut modest, 60);
        assert_eq!((memory.room_bytes(&modest), memory.common_room_bytes()), (40, 0));
        memory.give(&mut greedy, 1);
        assert_eq!((memory.room_bytes(&modest), memory.common_room_bytes()), (41, 1));
        memory.set_share(&mut greedy, 400);
        assert_eq!(memory.common_room_bytes(), 301);
        memory.set_share(&mut greedy, 100);
        assert_eq!(memory.common_room_bytes(), 1);
        memory.give(&mut modest, 60);
        memory.close(greedy, 300);
        assert_eq!(memory.common_room_bytes(), 700, "of which 300 are lent");
        memory.give_common(300);
        assert_eq!(memory.common_room_bytes(), 1000);
        assert_eq!(memory.room_bytes(&modest), 1100);
    }

    proptest::proptest! {
        #![proptest_config(testing::cases(256))]

        #[test]
        fn what_is_used_of_the_common_part_is_what_is_held_beyond_shares(
            steps in proptest::collection::vec((0usize..4, 0u64..400, proptest::bool::ANY), 1..200),
        ) {
            let mut memory = CommandMemory::new(500);
            let mut accounts = [Account::new(100); 4];
            for (index, bytes, take) in steps {
                let account = &mut accounts[index];
                if take && bytes <= memory.room_bytes(account) {
                    memory.take(account, bytes);
                } else if !take {
                    memory.give(account, bytes.min(account.held_bytes));
                }
                let beyond: u64 = accounts.iter().map(Account::beyond_share).sum();
                proptest::prop_assert_eq!(memory.used_bytes, beyond);
                proptest::prop_assert!(beyond <= 500);
            }
        }
    }
}
