import ChildProcesses
import Foundation
import MixModel

/// The processes that show a page: a display without a screen, a sound server, and the browser. They end with this
/// process, however it ends. A page that is only captured as pictures has a browser without a window.
final class PageHost: Sendable {
    struct Failure: Error, CustomStringConvertible {
        let description: String
    }

    struct Screen: Hashable, Sendable {
        /// Number of the display.
        var display: Int
        /// Path of the sound server's socket.
        var pulse: String
    }

    /// Display and sound server; `nil` for a page that is only captured as pictures.
    let screen: Screen?
    /// Ends of the browser's debugging pipe.
    let toBrowser: FileHandle
    let fromBrowser: FileHandle
    private let browser: LaunchedProcess
    private let others: [LaunchedProcess]

    /// Time in ns for the display and the sound server to start; a busy machine may need that long.
    private static let patience: Int64 = 15_000_000_000
    /// Largest file that the browser may write, in blocks of 512 bytes.
    private static let longestFile = 1 << 19

    /// Starts all processes. Blocks; call on a lasting thread.
    ///
    /// - Parameters:
    ///   - proxyPort: Port of the proxy, which is the browser's only access to the network.
    ///   - share: The browser's share of the machine. Display and sound server have no limit: they do little, and viewers
    ///     would see and hear each delay.
    init(_ job: PageJob, in directory: PageDirectory, proxyPort: Int, share: BrowserShare) throws {
        if let missing = PagePrograms.missing.first {
            throw Failure(
                description:
                    "\(missing.name) is not installed: \(PagePrograms.cure), or apt-get install \(missing.package)")
        }
        guard let program = PagePrograms.browser else { throw Failure(description: "no browser is installed") }
        try directory.renew(frameRate: job.frameRate)
        var started: [LaunchedProcess] = []
        do {
            screen = job.picture == nil ? try Self.startScreen(job, directory, &started) : nil
            let input = ProcessLaunch.pipe()
            let output = ProcessLaunch.pipe()
            var launch = Self.launcher(
                job, directory, signal: "KILL", [program] + Self.arguments(job, directory, proxyPort: proxyPort),
                share: share, isBrowser: true)
            if let screen {
                launch.environment?["DISPLAY"] = ":\(screen.display)"
                launch.environment?["PULSE_SERVER"] = "unix:\(screen.pulse)"
                launch.environment?["PULSE_SINK"] = "page"
            }
            launch.input = .descriptor(input.fileHandleForReading.fileDescriptor)
            launch.output = .descriptor(output.fileHandleForWriting.fileDescriptor)
            launch.errors = .file("\(directory.path)/browser.log", truncates: true)
            browser = try launch.start()
            try? input.fileHandleForReading.close()
            try? output.fileHandleForWriting.close()
            toBrowser = input.fileHandleForWriting
            fromBrowser = output.fileHandleForReading
            others = started
        } catch {
            Self.end(started)
            throw error
        }
    }

    /// Calls `body` with the name of each process that ends, on the thread that waits for it.
    func onExit(_ body: @escaping @Sendable (String) -> Void) {
        for (process, name) in zip([browser] + others, ["browser", "display", "sound server"]) {
            process.onExit { body("the \(name) ended with \($0)") }
        }
    }

    /// Ends all processes. Blocks for at most two seconds.
    func end() {
        browser.signal(SIGKILL)
        Self.end([browser] + others)
    }

    private static func end(_ processes: [LaunchedProcess]) {
        // A display that is asked to end removes its lock and its socket.
        for process in processes { process.signal(SIGTERM) }
        for _ in 0..<200 where processes.contains(where: \.isRunning) { usleep(10_000) }
        for process in processes where process.isRunning { process.signal(SIGKILL) }
        for process in processes { process.waitForExit() }
    }

    // MARK: - Programs

    /// Starts display and sound server in parallel, and waits for both.
    private static func startScreen(
        _ job: PageJob, _ directory: PageDirectory, _ started: inout [LaunchedProcess]
    ) throws -> Screen {
        let server = try startDisplay(job, directory)
        started.append(server.process)
        let sound = try launcher(job, directory, signal: "TERM", soundServer(directory)).start()
        started.append(sound)
        let display = try number(from: server.output, directory)
        let pulse = "\(directory.path)/pulse.sock"
        // A browser that finds no sound server stays without audio.
        try wait(for: pulse, of: sound)
        return Screen(display: display, pulse: pulse)
    }

    private static func startDisplay(
        _ job: PageJob, _ directory: PageDirectory
    ) throws -> (process: LaunchedProcess, output: FileHandle) {
        let pipe = ProcessLaunch.pipe()
        // On a screen of exactly the size of the picture, the window would be a pixel smaller.
        var launch = launcher(
            job, directory, signal: "TERM",
            [
                "Xvfb", "-displayfd", "1", "-screen", "0", "\(job.width + 8)x\(job.height + 8)x24", "-nolisten", "tcp",
                "-auth", "\(directory.path)/xauth",
            ])
        launch.output = .descriptor(pipe.fileHandleForWriting.fileDescriptor)
        let process = try launch.start()
        try? pipe.fileHandleForWriting.close()
        return (process, pipe.fileHandleForReading)
    }

    private static func soundServer(_ directory: PageDirectory) -> [String] {
        [
            "pulseaudio", "-n", "--exit-idle-time=-1", "--daemonize=no", "--use-pid-file=no", "--disable-shm=yes",
            "--log-level=error", "--resample-method=speex-float-5",
            "-L", "module-native-protocol-unix auth-anonymous=1 socket=\(directory.path)/pulse.sock",
            "-L", "module-null-sink sink_name=page rate=\(PagePipeline.sinkRate) channels=2",
        ]
    }

    /// Returns how to start a program: as the right user, ending with this thread, with limits, and with an environment
    /// that contains nothing of the service's.
    private static func launcher(
        _ job: PageJob, _ directory: PageDirectory, signal: String, _ command: [String],
        share: BrowserShare = BrowserShare(), isBrowser: Bool = false
    ) -> ProcessLaunch {
        var drop = ["setpriv", "--pdeathsig", signal]
        if let account = directory.account, geteuid() == 0 {
            drop += ["--reuid", "\(account.user)", "--regid", "\(account.group)", "--clear-groups"]
        }
        // The memory limit is inherited from this process and applies to each process.
        let limits = "echo 500 >/proc/self/oom_score_adj; ulimit -f \(longestFile); "
        // Descriptors 3 and 4 are the debugging pipe.
        let script = isBrowser ? limits + #"exec "$@" 3<&0 4>&1 0</dev/null 1>&2"# : limits + #"exec "$@""#
        var launch = ProcessLaunch("/bin/sh", ["-c", script, "sh"] + share.command + drop + command)
        launch.environment = [
            "PATH": PagePrograms.path, "LANG": "C.UTF-8", "HOME": "\(directory.path)/home", "TMPDIR": directory.path,
            "XDG_RUNTIME_DIR": "\(directory.path)/run", "XAUTHORITY": "\(directory.path)/xauth",
            "DBUS_SESSION_BUS_ADDRESS": "disabled:", "DBUS_SYSTEM_BUS_ADDRESS": "disabled:",
        ]
        (launch.output, launch.errors) = (.null, .null)
        return launch
    }

    private static func arguments(_ job: PageJob, _ directory: PageDirectory, proxyPort: Int) -> [String] {
        (job.isUnconfined ? ["--no-sandbox"] : []) + (job.picture == nil ? [] : ["--headless=new", "--mute-audio"]) + [
            "--remote-debugging-pipe", "--user-data-dir=\(directory.path)/profile", "--kiosk",
            "--app=data:text/html,<title>page</title>", "--window-size=\(job.width),\(job.height)",
            "--window-position=0,0", "--force-device-scale-factor=1", "--disable-gpu", "--hide-scrollbars",
            "--autoplay-policy=no-user-gesture-required", "--no-first-run", "--no-default-browser-check",
            "--disable-infobars", "--noerrdialogs", "--deny-permission-prompts", "--disable-notifications",
            "--hide-crash-restore-bubble", "--disable-background-networking", "--disable-component-update",
            "--disable-sync", "--disable-extensions", "--disable-breakpad", "--disable-crash-reporter",
            "--disable-dev-shm-usage",
            "--password-store=basic", "--disable-audio-input", "--disable-background-timer-throttling",
            "--disable-backgrounding-occluded-windows", "--disable-renderer-backgrounding",
            "--disk-cache-size=67108864", "--proxy-server=http://127.0.0.1:\(proxyPort)",
            "--proxy-bypass-list=<-loopback>", "--webrtc-ip-handling-policy=disable_non_proxied_udp",
            // WebRTC would look up the names of its servers here, past the proxy and its rules.
            "--host-resolver-rules=MAP * ~NOTFOUND, EXCLUDE 127.0.0.1",
        ]
    }

    // MARK: - Waiting

    /// Reads the number of the display, which the display writes once it can be used.
    private static func number(from output: FileHandle, _ directory: PageDirectory) throws -> Int {
        var bytes: [UInt8] = []
        while !bytes.contains(10), bytes.count < 16 {
            var descriptor = pollfd(fd: output.fileDescriptor, events: Int16(POLLIN), revents: 0)
            guard poll(&descriptor, 1, Int32(patience / 1_000_000)) > 0 else { break }
            var byte: UInt8 = 0
            guard read(output.fileDescriptor, &byte, 1) == 1 else { break }
            bytes.append(byte)
        }
        guard bytes.last == 10, let number = Int(String(decoding: bytes.dropLast(), as: UTF8.self)) else {
            throw Failure(description: "the display (Xvfb) does not start")
        }
        directory.note(display: number)
        return number
    }

    private static func wait(for socket: String, of process: LaunchedProcess) throws {
        for _ in 0..<(patience / 10_000_000) {
            if access(socket, F_OK) == 0 { return }
            guard process.isRunning else { break }
            usleep(10_000)
        }
        throw Failure(description: "the sound server (pulseaudio) does not start")
    }
}
