//! The examples of the README at work, with stand-ins for their programs, each by hand, as Marathon's app and as
//! mesos-execute's task: what comes second waits until what comes first can be reached, and the executor's end is the end
//! of everything.

use super::common::fifo::Lines;
use super::common::minion::{Minion, Sandbox};
use super::common::{another_name, minion};
use super::examples;
use rustix::fs::{CWD, Mode, mkfifoat};
use rustix::net::{self, AddressFamily, SocketFlags, SocketType};
use serde_json::Value;
use std::fs;
use std::io::{Read, Write};
use std::net::{Ipv4Addr, SocketAddrV4, TcpListener};
use std::os::fd::OwnedFd;
use std::os::unix::net::UnixListener;
use std::process::Command;

/// Says that it is up; the executor's ends with 4 when it is told to.
const STAND_IN: &str = "#!/bin/sh\nname=${0##*/}\necho $name >up\ncase $name in\n\
                        k3s | *-executor) read x <go; exit 4 ;;\nesac\nexec sleep 1000\n";

/// An example that was started.
struct Example {
    sandbox: Sandbox,
    up: Lines,
    minion: Minion,
}

/// Who starts it.
#[derive(Clone, Copy, Debug)]
enum By {
    /// A shell: the command that this file is about.
    Hand,
    /// Marathon: the app's `cmd`, behind its executor where it names one.
    Marathon,
    /// mesos-execute: the command of the task, or of its executor.
    MesosExecute,
}

impl By {
    const ALL: [Self; 3] = [Self::Hand, Self::Marathon, Self::MesosExecute];

    /// What the agent gives to a shell.
    fn command(self, stem: &str) -> String {
        let text = |value: &Value| value.as_str().unwrap().to_owned();
        match self {
            Self::Hand => format!("exec ./minion supervise --config={stem}.toml"),
            Self::Marathon => {
                let app = examples::json(&format!("{stem}.marathon.json"));
                let executor = app["executor"].as_str().map(|executor| format!("exec '{executor}' "));
                executor.unwrap_or_default() + &text(&app["cmd"])
            }
            Self::MesosExecute => text(&examples::command(&examples::json(&format!("{stem}.task.json")))["value"]),
        }
    }
}

impl Example {
    /// With the addresses of this test in the place of its own, and without what root alone may set.
    fn start(stem: &str, by: By, replaced: &[(&str, &str)]) -> Self {
        let name = format!("{stem}.toml");
        let (_, mut text) = examples::files("toml").into_iter().find(|(there, _)| *there == name).unwrap();
        for (from, to) in replaced {
            assert!(text.contains(from), "{name}: {from}");
            text = text.replace(from, to);
        }
        let of_root = |line: &&str| line.starts_with("limits") || line.starts_with("oom-score-adj");
        let lines: Vec<&str> = text.lines().filter(|line| !of_root(line)).collect();
        let sandbox = examples::sandbox(STAND_IN);
        // As the fetcher leaves it.
        fs::write(sandbox.path(&name), lines.join("\n")).unwrap();
        another_name(minion(), &sandbox.path("minion"));
        mkfifoat(CWD, sandbox.path("go"), Mode::RWXU).unwrap();
        let up = sandbox.events("up");
        let mut command = Command::new("sh");
        sandbox.mark(&mut command);
        command.env("PATH", format!("{}:/usr/bin:/bin", sandbox.path("bin").display()));
        command.args(["-c", &by.command(stem)]);
        let minion = Minion::spawn(&mut command);
        Self { sandbox, up, minion }
    }

    /// The first program is up and alone; `serve` makes it reachable; then the second one starts.
    fn in_order<S>(mut self, first: &str, second: &str, serve: impl FnOnce(&Sandbox) -> S) {
        assert_eq!(self.up.next(), first);
        assert_eq!(self.up.there(), Vec::<String>::new(), "{second} did not wait");
        let served = serve(&self.sandbox);
        assert_eq!(self.up.next(), second);
        fs::write(self.sandbox.path("go"), "\n").unwrap();
        let said = self.minion.wait().assert_code(4);
        let place = |text: &str| said.find(text).unwrap_or_else(|| panic!("{text}\n{said}"));
        let (ready, started) = (place("info ready task="), said.rfind("info started task=").unwrap());
        assert!(ready < started, "{said}");
        self.sandbox.assert_deserted();
        drop(served);
    }
}

/// A port of this machine that nobody else gets, and where nobody listens yet.
fn port() -> (OwnedFd, String) {
    let socket = net::socket_with(AddressFamily::INET, SocketType::STREAM, SocketFlags::CLOEXEC, None).unwrap();
    net::bind(&socket, &SocketAddrV4::new(Ipv4Addr::LOCALHOST, 0)).unwrap();
    let address = SocketAddrV4::try_from(net::getsockname(&socket).unwrap()).unwrap();
    (socket, address.to_string())
}

#[test]
fn k3s_starts_when_cri_dockerd_accepts_connections() {
    for by in By::ALL {
        let example = Example::start("k3s", by, &[("/run/cri-dockerd.sock", "cri.sock")]);
        example.in_order("cri-dockerd", "k3s", |sandbox| UnixListener::bind(sandbox.path("cri.sock")).unwrap());
    }
}

#[test]
fn kube_proxy_starts_when_the_kubelet_answers() {
    for by in By::ALL {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let here = listener.local_addr().unwrap().to_string();
        let own = [("127.0.0.1:10248", here.as_str()), ("every = \"1s\"", "every = \"50ms\"")];
        Example::start("kubelet", by, &own).in_order("kubelet-executor", "kube-proxy", |_| {
            std::thread::spawn(move || {
                for stream in listener.incoming() {
                    let mut stream = stream.unwrap();
                    let _ = stream.read(&mut [0; 1024]);
                    let _ = stream.write_all(b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n");
                }
            })
        });
    }
}

#[test]
fn the_executor_starts_when_its_log_shipper_listens() {
    for by in By::ALL {
        let (socket, here) = port();
        let example = Example::start("http-executor", by, &[("127.0.0.1:2020", &here)]);
        example.in_order("fluent-bit", "http-executor", |_| net::listen(&socket, 16).unwrap());
    }
}
