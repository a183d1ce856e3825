//! What chance makes of a corpus.

/// xorshift64*: a run is a function of its seed.
pub struct Random(u64);

impl Random {
    pub fn new(seed: u64) -> Self {
        Self(seed.wrapping_mul(0x9E37_79B9_7F4A_7C15) | 1)
    }

    fn next(&mut self) -> u64 {
        self.0 ^= self.0 >> 12;
        self.0 ^= self.0 << 25;
        self.0 ^= self.0 >> 27;
        self.0.wrapping_mul(0x2545_F491_4F6C_DD1D)
    }

    fn below(&mut self, end: usize) -> usize {
        usize::try_from((self.next() >> 11) % end.max(1) as u64).unwrap()
    }

    fn byte(&mut self) -> u8 {
        u8::try_from(self.next() >> 56).unwrap()
    }

    fn pick<'a, T>(&mut self, from: &'a [T]) -> Option<&'a T> {
        from.get(self.below(from.len()))
    }
}

/// Longer inputs find nothing that shorter ones do not.
const LONGEST: usize = 4096;
/// Bytes that parsers look for.
const TELLING: &[u8] = b"\0\n :=,./-+\\\"'()[]{}#&*0129eEmKi\xff\x80\xc2";
/// Numbers at edges of types.
const EDGES: [&str; 7] = [
    "0",
    "18446744073709551615",
    "9223372036854775808",
    "-9223372036854775808",
    "4294967296",
    "1e999",
    "00000000000000000000001",
];

/// A member of the corpus, or two of them spliced, with a few changes.
pub fn mutated(corpus: &[Vec<u8>], random: &mut Random) -> Vec<u8> {
    let mut input = random.pick(corpus).cloned().unwrap_or_default();
    if random.below(4) == 0 {
        let other = random.pick(corpus).cloned().unwrap_or_default();
        input.truncate(random.below(input.len() + 1));
        input.extend_from_slice(&other[random.below(other.len() + 1)..]);
    }
    for _ in 0..=random.below(6) {
        change(&mut input, random);
    }
    input.truncate(LONGEST);
    input
}

fn change(input: &mut Vec<u8>, random: &mut Random) {
    let at = random.below(input.len() + 1);
    let end = (at + random.below(16)).min(input.len());
    match random.below(9) {
        0 => input.truncate(at),
        1 => drop(input.drain(at..end)),
        2 => input.insert(at, random.byte()),
        3 => input.insert(at, random.pick(TELLING).copied().unwrap_or_default()),
        4 => {
            let edge = random.pick(&EDGES).copied().unwrap_or_default();
            drop(input.splice(at..end, edge.bytes()));
        }
        5 => {
            let piece = input[at..end].to_vec();
            let to = random.below(input.len() + 1);
            drop(input.splice(to..to, piece));
        }
        6 => {
            if let Some(byte) = input.get_mut(at) {
                *byte ^= 1 << random.below(8);
            }
        }
        7 => {
            if let Some(byte) = input.get_mut(at) {
                *byte = random.byte();
            }
        }
        _ => {
            if let Some(byte) = input.get_mut(at) {
                *byte = random.pick(TELLING).copied().unwrap_or_default();
            }
        }
    }
}
