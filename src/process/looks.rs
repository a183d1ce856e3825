//! When looks at all processes prove that nothing is left.

use std::collections::BTreeSet;

/// So many looks find nothing when there is nothing, if each saw whose all were that it listed.
const LOOKS: u32 = 3;

/// Counts looks that find nothing. What ended between its listing and the look at it may have had a successor, so a look that
/// met such a one is not sure; unless the look before met it too: then it is a zombie that nobody reaps.
#[derive(Debug)]
pub struct Looks {
    most: u32,
    empty: u32,
    sure: u32,
    gone: BTreeSet<i32>,
}

impl Looks {
    /// So many in a row prove it too where processes of others come and go all the time.
    pub fn up_to(most: u32) -> Self {
        Self { most, empty: 0, sure: 0, gone: BTreeSet::new() }
    }

    /// Notes a look: whether it found anything, whether it saw whose all were that live, and who was gone. True where that was
    /// the last that it takes.
    pub fn prove_it(&mut self, found: bool, is_sure: bool, gone: BTreeSet<i32>) -> bool {
        let is_sure = is_sure && gone.is_subset(&self.gone);
        self.gone = gone;
        (self.empty, self.sure) = if found { (0, 0) } else { (self.empty + 1, self.sure + u32::from(is_sure)) };
        self.sure == LOOKS || self.empty == self.most
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// After how many of these looks it is proved: who was found, whether it was sure, who was gone.
    fn proved(looks: &[(bool, bool, &[i32])]) -> Option<usize> {
        let mut count = Looks::up_to(5);
        looks.iter().position(|(found, sure, gone)| count.prove_it(*found, *sure, gone.iter().copied().collect()))
    }

    #[test]
    fn three_looks_that_saw_all_prove_it() {
        let (nothing, found) = ((false, true, &[][..]), (true, true, &[][..]));
        assert_eq!(proved(&[nothing; 4]), Some(2));
        assert_eq!(proved(&[nothing, nothing, found, nothing, nothing, nothing]), Some(5));
        assert_eq!(proved(&[(false, false, &[]), nothing, nothing, nothing]), Some(3), "one was amid an exec");
    }

    #[test]
    fn who_was_gone_makes_a_look_unsure_once_and_five_prove_it_in_any_case() {
        let zombie = (false, true, &[7][..]);
        assert_eq!(proved(&[zombie; 4]), Some(3));
        let moving: [&[i32]; 6] = [&[1], &[2], &[3], &[4], &[5], &[6]];
        assert_eq!(proved(&moving.map(|gone| (false, true, gone))), Some(4));
    }
}
