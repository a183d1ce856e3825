//! Users and groups by /etc/passwd and /etc/group, read as text. The C library's look-up is none for a static program. [CR-71]

use super::draft::Account;
use crate::task::spec::User;

/// What is wrong with a user or a group, and what helps.
pub(super) struct Unknown {
    pub(super) message: String,
    pub(super) hint: &'static str,
}

impl Unknown {
    fn new(message: String, hint: &'static str) -> Self {
        Self { message, hint }
    }
}

/// The two files.
pub(super) struct Accounts<'a> {
    pub(super) passwd: &'a str,
    pub(super) group: &'a str,
}

impl Accounts<'_> {
    /// The user with its group, or with `group` in the place of that, and the groups that list it.
    pub(super) fn user(&self, user: &Account, group: Option<u32>) -> Result<User, Unknown> {
        let mut entries = lines(self.passwd).filter_map(|fields| {
            let number = |at: usize| fields.get(at)?.parse::<u32>().ok();
            Some((*fields.first()?, number(2)?, number(3)?))
        });
        let found = entries.find(|(name, uid, _)| match user {
            Account::Name(wanted) => name == wanted,
            Account::Number(wanted) => uid == wanted,
        });
        match (found, user) {
            (Some((name, uid, own)), _) => {
                let gid = group.unwrap_or(own);
                Ok(User { uid, gid, groups: self.memberships(name, gid) })
            }
            (None, Account::Number(uid)) => match group {
                Some(gid) => Ok(User { uid: *uid, gid, groups: vec![gid] }),
                None => Err(Unknown::new(format!("{uid} is not in /etc/passwd"), "name a group too")),
            },
            (None, Account::Name(name)) => {
                let hint = "a user of a directory service goes by its number, with a group";
                Err(Unknown::new(format!("no such user: {name:?}"), hint))
            }
        }
    }

    /// The number of a group.
    pub(super) fn group(&self, group: &Account) -> Result<u32, Unknown> {
        let name = match group {
            Account::Number(gid) => return Ok(*gid),
            Account::Name(name) => name,
        };
        let found = lines(self.group).find(|fields| fields.first() == Some(&name.as_str()));
        found.and_then(|fields| fields.get(2)?.parse().ok()).ok_or_else(|| {
            Unknown::new(format!("no such group: {name:?}"), "a group of a directory service goes by its number")
        })
    }

    /// As initgroups(3) has it: the group itself, and each that lists the user.
    fn memberships(&self, user: &str, gid: u32) -> Vec<u32> {
        let mut groups = vec![gid];
        for fields in lines(self.group) {
            let listed = fields.get(3).is_some_and(|members| members.split(',').any(|member| member == user));
            let Some(gid) = fields.get(2).and_then(|gid| gid.parse().ok()) else { continue };
            if listed && !groups.contains(&gid) {
                groups.push(gid);
            }
        }
        groups
    }
}

fn lines(text: &str) -> impl Iterator<Item = Vec<&str>> {
    text.lines().map(|line| line.split(':').collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    const ACCOUNTS: Accounts<'_> = Accounts {
        passwd: "root:x:0:0::/root:/bin/sh\n+::::::\nkube:x:700:701::/:/bin/false\n",
        group: "root:x:0:\nkube:x:701:\ndocker:x:702:a,kube\nlog:x:703:kube,a\nother:x:704:kubes\n",
    };

    fn user(account: &Account, group: Option<u32>) -> Result<User, String> {
        ACCOUNTS.user(account, group).map_err(|unknown| format!("{} ({})", unknown.message, unknown.hint))
    }

    #[test]
    fn a_user_has_its_group_and_those_that_list_it() {
        let expected = User { uid: 700, gid: 701, groups: vec![701, 702, 703] };
        assert_eq!(user(&Account::Name("kube".into()), None), Ok(expected.clone()));
        assert_eq!(user(&Account::Number(700), None), Ok(expected));
        let other = User { uid: 700, gid: 5, groups: vec![5, 702, 703] };
        assert_eq!(user(&Account::Name("kube".into()), Some(5)), Ok(other));
    }

    #[test]
    fn a_number_needs_no_entry_where_its_group_is_named() {
        assert_eq!(user(&Account::Number(9), Some(8)), Ok(User { uid: 9, gid: 8, groups: vec![8] }));
        assert_eq!(user(&Account::Number(9), None), Err("9 is not in /etc/passwd (name a group too)".into()));
        let refused = user(&Account::Name("kub".into()), Some(1)).unwrap_err();
        assert!(refused.starts_with("no such user: \"kub\""), "{refused}");
    }

    #[test]
    fn a_group_goes_by_name_or_number() {
        assert_eq!(ACCOUNTS.group(&Account::Name("docker".into())).ok(), Some(702));
        assert_eq!(ACCOUNTS.group(&Account::Number(4)).ok(), Some(4));
        assert!(ACCOUNTS.group(&Account::Name("dock".into())).is_err());
    }
}
