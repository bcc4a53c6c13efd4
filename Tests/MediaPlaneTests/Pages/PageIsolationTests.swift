import ChildProcesses
import Foundation
import MixModel
import TestSupport
import Testing
import TextFormats

/// Resources that a page cannot reach, and traces that it leaves.
@Suite(.serialized, .timeLimit(.minutes(6)), .enabled(if: PagePrograms.missing.isEmpty)) struct PageIsolationTests {
    /// Returns a page that tries every way to a port of this machine.
    private static func prober(_ port: Int) -> String {
        """
        <!doctype html><title>prober</title><body>probing<script>
        const hosts = ["127.0.0.1", "localhost", "[::1]", "0.0.0.0", "127.1", "2130706433", "[::ffff:127.0.0.1]"];
        for (const host of hosts) {
          const url = "http://" + host + ":\(port)/";
          fetch(url + "fetch", { mode: "no-cors" }).catch(() => {});
          new Image().src = url + "image";
          const frame = document.createElement("iframe");
          frame.src = url + "frame";
          document.body.append(frame);
          try { new WebSocket("ws://" + host + ":\(port)/socket"); } catch (error) { }
          try { navigator.sendBeacon(url + "beacon", "x"); } catch (error) { }
          for (const relation of ["preconnect", "dns-prefetch", "prefetch", "stylesheet"]) {
            const link = document.createElement("link");
            link.rel = relation;
            link.href = url + relation;
            document.head.append(link);
          }
          try {
            const peer = new RTCPeerConnection({ iceServers: [
              { urls: "stun:" + host + ":\(port)" },
              { urls: "turn:" + host + ":\(port)?transport=tcp", username: "x", credential: "y" },
              { urls: "turns:" + host + ":\(port)?transport=tcp", username: "x", credential: "y" } ] });
            peer.createDataChannel("x");
            peer.createOffer().then((offer) => peer.setLocalDescription(offer));
          } catch (error) { }
        }
        const worker = new Worker(URL.createObjectURL(new Blob([
          "fetch('http://127.0.0.1:\(port)/worker', { mode: 'no-cors' }).catch(() => {})"])));
        fetch("/redirect?fetch", { mode: "no-cors" }).catch(() => {});
        new Image().src = "/redirect?image";
        const frame = document.createElement("iframe");
        frame.src = "/redirect?frame";
        document.body.append(frame);
        </script></body>
        """
    }

    /// Returns traps for connections and for datagrams at the same port. Tries further ports if one is taken for
    /// datagrams.
    private static func traps() throws -> (PageServer, DatagramTrap) {
        for _ in 0..<100 {
            let trap = try PageServer()
            if let datagrams = try? DatagramTrap(port: trap.port) { return (trap, datagrams) }
            trap.stop()
        }
        throw POSIXError(.EADDRINUSE)
    }

    @Test func nothingOnThisMachineIsReached() async throws {
        let (trap, datagrams) = try Self.traps()
        defer {
            trap.stop()
            datagrams.stop()
        }
        // The page's own server leads there, too.
        let redirects = ["/redirect": "http://127.0.0.1:\(trap.port)/redirected"]
        let scene = try await PageScene.start(page: Self.prober(trap.port), redirects: redirects)
        defer { scene.stop() }
        try await scene.waitForAir()
        let own: Set<String> = ["/redirect?fetch", "/redirect?image", "/redirect?frame"]
        #expect(
            try await outputEventually { own.isSubset(of: scene.server.requests) },
            "its own server is reached: \(scene.server.requests)")
        #expect(
            try await outputEventually { scene.worker.log.contains("is refused: it is in a local network") },
            "\(scene.worker.log)")
        try await Task.sleep(for: .seconds(4))
        #expect(trap.requests.isEmpty, "\(trap.requests)")
        #expect(datagrams.count == 0)
        // An allowed request shows that the trap works.
        let open = try await PageScene.start(
            allowed: [Reach.Place(scheme: "http", address: "127.0.0.1", port: trap.port)], page: Self.prober(trap.port),
            redirects: redirects)
        defer { open.stop() }
        #expect(
            try await outputEventually(within: .seconds(60)) {
                trap.requests.contains("/redirected") && trap.requests.contains { $0 != "/redirected" }
            }, "\(trap.requests)")
    }

    /// A page whose server redirects it to a refused place is not shown, and says why.
    @Test func theRedirectOfAPageToThisMachineIsNotFollowed() async throws {
        let trap = try PageServer(["/": TestPage.html(source: 3)])
        defer { trap.stop() }
        let scene = try await PageScene.start("redirect", redirects: ["/redirect": "http://127.0.0.1:\(trap.port)/"])
        defer { scene.stop() }
        #expect(
            try await outputEventually(within: .seconds(60)) {
                scene.worker.reasons.contains { $0.contains("its address is refused (sources.allow)") }
            }, "\(scene.worker.reasons) \(scene.worker.log)")
        #expect(!scene.worker.states.contains(.onAir))
        scene.server.set("/redirect", TestPage.html(source: 3))
        try await scene.waitForAir()
        #expect(trap.requests.isEmpty, "\(trap.requests)")
    }

    /// Asks for what belongs to the machine and its user, starts a download, and posts the answers.
    private static let asker = """
        <!doctype html><title>asker</title><body>asking<script>
        const answers = {};
        async function ask(name, question) {
          const late = new Promise((_, reject) => setTimeout(() => reject({ name: "no answer" }), 30000));
          try {
            await Promise.race([question(), late]);
            answers[name] = "given";
          } catch (error) { answers[name] = "refused: " + (error.name || error.code); }
        }
        async function askAll() {
          await ask("notification", async () => {
            const state = await Notification.requestPermission();
            if (state !== "granted") throw { name: state };
          });
          await ask("position", () => new Promise(
            (resolve, reject) => navigator.geolocation.getCurrentPosition(resolve, reject)));
          await ask("clipboard", () => navigator.clipboard.readText());
          await ask("microphone", () => navigator.mediaDevices.getUserMedia({ audio: true }));
          await ask("file", () => fetch("file:///etc/hostname"));
          const link = document.createElement("a");
          link.href = URL.createObjectURL(new Blob(["x"]));
          link.download = "page-download.bin";
          document.body.append(link);
          link.click();
          await new Promise((resolve) => setTimeout(resolve, 2000));
          await fetch("/answers", { method: "POST", body: JSON.stringify(answers) });
        }
        askAll();
        </script></body>
        """

    @Test func nothingOfTheMachineOrItsUserIsGiven() async throws {
        let scene = try await PageScene.start(page: Self.asker)
        defer { scene.stop() }
        try await scene.waitForAir()
        #expect(
            try await outputEventually(within: .seconds(180)) { !scene.server.posted.isEmpty }, "\(scene.worker.log)")
        let text = try #require(scene.server.posted.first)
        let answers = try JSONDecoder().decode([String: String].self, from: Data(text.utf8))
        #expect(Set(answers.keys) == ["notification", "position", "clipboard", "microphone", "file"])
        for (name, answer) in answers {
            #expect(answer.hasPrefix("refused: ") && answer != "refused: no answer", "\(name): \(answer)")
        }
        // Without the permission, rather than without a position.
        #expect(answers["position"] == "refused: 1")

        let files = Self.files(of: try #require(scene.directory))
        #expect(files.contains { $0.hasPrefix("profile/") })
        let downloads = files.filter { $0.contains("page-download") || $0.hasSuffix(".crdownload") }
        #expect(downloads.isEmpty, "\(downloads)")

        // What shows the page is not the service's user if that is root.
        let user: uid_t? = geteuid() == 0 ? getpwnam("nobody")?.pointee.pw_uid : geteuid()
        let uid = try #require(user)
        let shown = scene.processes.filter { process in
            let program = PageScene.command(of: process).first ?? ""
            return program.contains("chrom") || program.hasSuffix("Xvfb") || program.hasSuffix("pulseaudio")
        }
        #expect(shown.count > 4)
        for process in shown {
            let status = try? String(contentsOfFile: "/proc/\(process)/status", encoding: .utf8)
            // A process may end meanwhile.
            #expect(status?.contains("Uid:\t\(uid)\t\(uid)\t\(uid)\t\(uid)\n") ?? true, "\(process) \(status ?? "")")
        }
    }

    @Test func nothingIsLeftAfterTheEnd() async throws {
        let others = PageScene.displays
        let scene = try await PageScene.start()
        defer { scene.stop() }
        try await scene.waitForAir()
        let processes = scene.processes
        let directory = try #require(scene.directory)
        let displays = PageScene.displays.subtracting(others)
        #expect(processes.count > 4 && displays.count == 1, "\(processes) \(displays)")
        scene.worker.send(.terminate)
        #expect(scene.worker.process.waitForExit() == .status(0))
        try await Self.expectNothing(processes, directory, displays)
    }

    @Test func nothingIsLeftOfAKilledWorker() async throws {
        let others = PageScene.displays
        let scene = try await PageScene.start()
        defer { scene.stop() }
        try await scene.waitForAir()
        let processes = scene.processes
        let directory = try #require(scene.directory)
        let displays = PageScene.displays.subtracting(others)
        scene.worker.process.signal(SIGKILL)
        scene.worker.process.waitForExit()
        try await Self.expectNothing(processes, directory, displays)
    }

    /// A crashed browser is restarted; a killed display ends the worker, which the service restarts.
    @Test func aBrowserThatIsKilledIsStartedAgain() async throws {
        let others = PageScene.displays
        let scene = try await PageScene.start()
        defer { scene.stop() }
        try await scene.waitForAir()
        let before = scene.processes
        let browser = try #require(scene.browsers(nil).first)
        kill(browser, SIGKILL)
        #expect(try await outputEventually { scene.worker.states.contains(.failing) }, "\(scene.worker.log)")
        #expect(try await outputEventually(within: .seconds(60)) { scene.worker.isOnAir }, "\(scene.worker.log)")
        let isReplaced = try await outputEventually { Set(before).intersection(scene.processes).count <= 1 }
        let now = scene.processes
        #expect(
            isReplaced,
            "only what keeps the directory: \(Set(before).intersection(now).map { PageScene.command(of: $0) })")
        let display = try #require(now.first { PageScene.command(of: $0).first?.hasSuffix("Xvfb") ?? false })
        let (directory, displays) = (try #require(scene.directory), PageScene.displays.subtracting(others))
        kill(display, SIGKILL)
        scene.worker.process.waitForExit()
        try await Self.expectNothing(now, directory, displays)
    }

    /// Returns the paths of all files of a page, relative to its directory.
    private static func files(of directory: String) -> [String] {
        [FileManager.default.temporaryDirectory.path, "/tmp", "/var/tmp"].flatMap { place in
            FileManager.default.enumerator(atPath: "\(place)/\(directory)")?.compactMap { $0 as? String } ?? []
        }
    }

    private static func expectNothing(
        _ processes: [Int32], _ directory: String, _ displays: Set<String>
    ) async throws {
        let isGone = try await outputEventually(within: .seconds(30)) {
            processes.allSatisfy { PageScene.command(of: $0).isEmpty }
                && !PageScene.directories.contains(directory)
                && displays.allSatisfy { !FileManager.default.fileExists(atPath: "/tmp/.X11-unix/\($0)") }
        }
        #expect(
            isGone,
            "\(processes.map { PageScene.command(of: $0) }.filter { !$0.isEmpty }) \(directory) \(displays)")
    }
}

/// A socket that counts datagrams.
private final class DatagramTrap: Sendable {
    private let descriptor: Int32

    init(port: Int) throws {
        descriptor = socket(AF_INET, Int32(SOCK_DGRAM.rawValue) | Int32(SOCK_NONBLOCK.rawValue), 0)
        var address = sockaddr_in()
        address.sin_family = sa_family_t(AF_INET)
        address.sin_addr.s_addr = inet_addr("127.0.0.1")
        address.sin_port = UInt16(port).bigEndian
        let isBound = withUnsafePointer(to: &address) { pointer in
            pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) { [descriptor] in
                bind(descriptor, $0, socklen_t(MemoryLayout<sockaddr_in>.size)) == 0
            }
        }
        guard isBound else {
            close(descriptor)
            throw POSIXError(.EADDRINUSE)
        }
    }

    var count: Int {
        var buffer = [UInt8](repeating: 0, count: 2048)
        var count = 0
        while recv(descriptor, &buffer, buffer.count, 0) >= 0 { count += 1 }
        return count
    }

    func stop() { close(descriptor) }
}
