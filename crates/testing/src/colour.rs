//! How well colours can be told apart: contrast as WCAG computes it, and distance as people with
//! each kind of colour vision see it.

/// A kind of colour vision; the others lack one of the three kinds of cones.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Vision {
    /// All three kinds of cones.
    Normal,
    /// None for long waves.
    Protanopia,
    /// None for middle waves.
    Deuteranopia,
    /// None for short waves.
    Tritanopia,
}

impl Vision {
    /// All kinds.
    pub const ALL: [Self; 4] =
        [Self::Normal, Self::Protanopia, Self::Deuteranopia, Self::Tritanopia];

    /// What becomes of linear RGB: the matrices of Machado, Oliveira and Fernandes (2009) for a
    /// cone that is missing.
    const fn matrix(self) -> [[f64; 3]; 3] {
        match self {
            Self::Normal => [[1.0, 0.0, 0.0], [0.0, 1.0, 0.0], [0.0, 0.0, 1.0]],
            Self::Protanopia => [
                [0.152_286, 1.052_583, -0.204_868],
                [0.114_503, 0.786_281, 0.099_216],
                [-0.003_882, -0.048_116, 1.051_998],
            ],
            Self::Deuteranopia => [
                [0.367_322, 0.860_646, -0.227_968],
                [0.280_085, 0.672_501, 0.047_413],
                [-0.011_820, 0.042_940, 0.968_881],
            ],
            Self::Tritanopia => [
                [1.255_528, -0.076_749, -0.178_779],
                [-0.078_411, 0.930_809, 0.147_602],
                [0.004_733, 0.691_367, 0.303_900],
            ],
        }
    }
}

/// Linear RGB, from 0 to 1.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Colour([f64; 3]);

impl Colour {
    /// Reads `#rrggbb`.
    #[must_use]
    pub fn from_hex(hex: &str) -> Option<Self> {
        let digits = hex.strip_prefix('#').filter(|digits| digits.len() == 6)?;
        let part = |at: usize| {
            let value = f64::from(u8::from_str_radix(digits.get(at..at + 2)?, 16).ok()?) / 255.0;
            let is_dark = value <= 0.040_45;
            Some(if is_dark { value / 12.92 } else { ((value + 0.055) / 1.055).powf(2.4) })
        };
        Some(Self([part(0)?, part(2)?, part(4)?]))
    }

    fn luminance(self) -> f64 {
        let [r, g, b] = self.0;
        0.2126 * r + 0.7152 * g + 0.0722 * b
    }

    /// The contrast of two colours, from 1 to 21 (WCAG 2).
    #[must_use]
    pub fn contrast(self, other: Self) -> f64 {
        let (a, b) = (self.luminance() + 0.05, other.luminance() + 0.05);
        a.max(b) / a.min(b)
    }

    /// How far apart two colours are for such eyes: CIEDE2000, of which 1 can hardly be seen.
    #[must_use]
    pub fn distance(self, other: Self, vision: Vision) -> f64 {
        ciede2000(self.seen(vision).lab(), other.seen(vision).lab())
    }

    fn seen(self, vision: Vision) -> Self {
        let [r, g, b] = self.0;
        Self(vision.matrix().map(|[x, y, z]| (x * r + y * g + z * b).clamp(0.0, 1.0)))
    }

    /// CIELAB under the white of sRGB.
    fn lab(self) -> [f64; 3] {
        let [r, g, b] = self.0;
        let x = (0.412_456_4 * r + 0.357_576_1 * g + 0.180_437_5 * b) / 0.950_47;
        let y = 0.212_672_9 * r + 0.715_152_2 * g + 0.072_175_0 * b;
        let z = (0.019_333_9 * r + 0.119_192_0 * g + 0.950_304_1 * b) / 1.088_83;
        let root = |t: f64| {
            if t > 216.0 / 24_389.0 { t.cbrt() } else { (24_389.0 / 27.0 * t + 16.0) / 116.0 }
        };
        [116.0 * root(y) - 16.0, 500.0 * (root(x) - root(y)), 200.0 * (root(y) - root(z))]
    }
}

/// The difference of two colours in CIELAB (Sharma, Wu and Dalal 2005).
fn ciede2000([l1, a1, b1]: [f64; 3], [l2, a2, b2]: [f64; 3]) -> f64 {
    let mean = f64::midpoint(a1.hypot(b1), a2.hypot(b2));
    let weight = |chroma: f64| (chroma.powi(7) / (chroma.powi(7) + 25_f64.powi(7))).sqrt();
    let stretch = 1.0 + 0.5 * (1.0 - weight(mean));
    let (a1, a2) = (a1 * stretch, a2 * stretch);
    let (c1, c2) = (a1.hypot(b1), a2.hypot(b2));
    let angle = |a: f64, b: f64| b.atan2(a).to_degrees().rem_euclid(360.0);
    let (h1, h2) = (angle(a1, b1), angle(a2, b2));
    let is_grey = c1 * c2 == 0.0;
    let turn = if is_grey { 0.0 } else { (h2 - h1 + 540.0).rem_euclid(360.0) - 180.0 };
    let hue = if is_grey { h1 + h2 } else { (h1 + turn / 2.0).rem_euclid(360.0) };
    let (dl, dc) = (l2 - l1, c2 - c1);
    let dh = 2.0 * (c1 * c2).sqrt() * (turn / 2.0).to_radians().sin();
    let (l, c) = (f64::midpoint(l1, l2), f64::midpoint(c1, c2));
    let cos = |degrees: f64| degrees.to_radians().cos();
    let t = 1.0 - 0.17 * cos(hue - 30.0) + 0.24 * cos(2.0 * hue) + 0.32 * cos(3.0 * hue + 6.0)
        - 0.2 * cos(4.0 * hue - 63.0);
    let off = (l - 50.0).powi(2);
    let (sl, sc, sh) =
        (1.0 + 0.015 * off / (20.0 + off).sqrt(), 1.0 + 0.045 * c, 1.0 + 0.015 * c * t);
    let blue = (60.0 * (-((hue - 275.0) / 25.0).powi(2)).exp()).to_radians().sin();
    let turned = -2.0 * weight(c) * blue;
    let (x, y, z) = (dl / sl, dc / sc, dh / sh);
    (x * x + y * y + z * z + turned * y * z).sqrt()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Pairs that the authors of the formula published to check it with.
    #[test]
    fn the_distance_is_that_of_the_formula() {
        let pairs = [
            ([50.0, 2.6772, -79.7751], [50.0, 0.0, -82.7485], 2.0425),
            ([50.0, 2.5, 0.0], [50.0, 0.0, -2.5], 4.3065),
            ([50.0, 2.5, 0.0], [73.0, 25.0, -18.0], 27.1492),
            ([60.2574, -34.0099, 36.2677], [60.4626, -34.1751, 39.4387], 1.2644),
            ([2.0776, 0.0795, -1.1350], [0.9033, -0.0636, -0.5514], 0.9082),
        ];
        for (a, b, expected) in pairs {
            let distance = ciede2000(a, b);
            assert!((distance - expected).abs() < 1e-4, "{distance} for {expected}");
            assert!((ciede2000(b, a) - distance).abs() < 1e-9);
        }
    }

    #[test]
    fn red_and_green_are_alike_to_those_who_cannot_tell() {
        let colour = |hex| Colour::from_hex(hex).unwrap();
        let (white, black) = (colour("#ffffff"), colour("#000000"));
        assert!((white.contrast(black) - 21.0).abs() < 1e-9);
        let (red, green) = (colour("#c08040"), colour("#6e9a3c"));
        let seen = |vision| red.distance(green, vision);
        assert!(seen(Vision::Deuteranopia) < seen(Vision::Normal) / 3.0);
        assert!(Colour::from_hex("red").is_none() && Colour::from_hex("#12345é").is_none());
        for vision in Vision::ALL {
            assert!((white.distance(black, vision) - 100.0).abs() < 0.1, "{vision:?}");
        }
    }
}
