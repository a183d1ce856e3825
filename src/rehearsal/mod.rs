//! A stand-in for a Mesos agent, for the demo and the tests.
