//! Where the container is in each cgroup hierarchy, and keeping children there.
