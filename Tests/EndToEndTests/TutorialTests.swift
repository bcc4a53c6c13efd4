import Foundation
import Testing

@testable import ViewerProbe

/// The commands of `docs/integrations/obs.md` work exactly as written, with a stock nginx, and without any posted
/// event.
@Suite(.serialized) struct TutorialTests {
    /// Replaces the page's ports and files by the test's, and its picture size by a quarter of the pixels, because two
    /// encoders and a mixer of a debug build have two cores here.
    private struct Place {
        var directory: URL
        var service = HookingMediaServer.anyPort()
        var rtmp = HookingMediaServer.anyPort()
        var stat = HookingMediaServer.anyPort()

        func adapted(_ text: String) -> String {
            text.replacing("127.0.0.1:8080", with: "127.0.0.1:\(service)")
                .replacing("127.0.0.1:8081", with: "127.0.0.1:\(stat)")
                .replacing("127.0.0.1:1935", with: "127.0.0.1:\(rtmp)")
                .replacing("rtmp://127.0.0.1/", with: "rtmp://127.0.0.1:\(rtmp)/")
                .replacing("/etc/nginx/", with: "\(directory.path)/nginx/")
                .replacing("width: 1280, height: 720", with: "width: 640, height: 360")
                .replacing("size=1280x720", with: "size=640x360").replacing("2500k", with: "800k")
        }
    }

    /// Returns the command blocks of the page, in order.
    private static func blocks() throws -> [String] {
        let file = Workspace.root.appendingPathComponent("docs/integrations/obs.md")
        let parts = try String(contentsOf: file, encoding: .utf8).components(separatedBy: "```")
        return stride(from: 1, to: parts.count, by: 2).map { parts[$0] }.filter { $0.hasPrefix("sh\n") }.map {
            String($0.dropFirst(3))
        }
    }

    private static func run(_ name: String, _ script: String, in directory: URL) async throws {
        let shell = try ManagedProcess(
            name, "/bin/bash", ["-e", "-c", "cd '\(directory.path)'\n" + script], in: directory)
        try await waitUntil("\(name) has run") { !shell.isRunning }
        guard shell.exitStatus == 0 else { throw EndToEndError("\(name): \(shell.messages())") }
    }

    /// Starts a stock nginx whose main file includes the page's configuration, as Debian's does.
    private static func startNginx(_ place: Place) async throws -> ManagedProcess {
        let root = place.directory.appendingPathComponent("nginx")
        let modules = ["/usr/lib/nginx/modules/ngx_rtmp_module.so", "/usr/share/nginx/modules/ngx_rtmp_module.so"]
        let module = try #require(modules.first { FileManager.default.fileExists(atPath: $0) })
        let own = try String(contentsOf: root.appendingPathComponent("nginx.conf"), encoding: .utf8)
        try own.replacing("%MODULE%", with: module).replacing("%ROOT%", with: root.path)
            .write(to: root.appendingPathComponent("nginx.conf"), atomically: true, encoding: .utf8)
        let process = try ManagedProcess(
            "nginx", "/usr/sbin/nginx",
            ["-p", root.path, "-e", "\(root.path)/error.log", "-c", root.appendingPathComponent("nginx.conf").path],
            in: place.directory)
        try await waitUntil("nginx listens") {
            guard process.isRunning else { throw EndToEndError("nginx ended: \(process.messages())") }
            return FileManager.default.fileExists(atPath: root.path + "/nginx.pid")
        }
        return process
    }

    /// The relevant part of Debian's main file.
    private static var mainFile: String {
        """
        \(getuid() == 0 ? "user root;" : "")
        load_module %MODULE%;
        worker_processes auto;
        daemon off;
        pid %ROOT%/nginx.pid;
        error_log %ROOT%/error.log info;
        include %ROOT%/modules-enabled/*.conf;
        events { worker_connections 512; }
        http {
            access_log off;
            client_body_temp_path %ROOT%/tmp; proxy_temp_path %ROOT%/tmp; fastcgi_temp_path %ROOT%/tmp;
            uwsgi_temp_path %ROOT%/tmp; scgi_temp_path %ROOT%/tmp;
            include %ROOT%/conf.d/*.conf;
        }
        """
    }

    /// Judges the program at the CDN by the limits of the demo, as far as they apply to pictures without marks.
    ///
    /// - Parameters:
    ///   - begin: Time of the program from which frames are a regular distance apart, in ms.
    ///   - isSteady: Whether the program has switched only for bob. Otherwise, the machine was so busy that a publisher
    ///     stalled: the last pictures of a group with B-frames may then be missing.
    private static func judge(_ recording: FLVRecording, from begin: Int64, isSteady: Bool) async throws {
        var limits = ProbeLimits.ofTests
        limits.unreadable = .max
        // Judged below, from `begin` on.
        limits.audioGapMs = .infinity
        limits.frozenMs = .infinity
        let judgement = try await Probe.judgement(recording, ProbeConfiguration(publishers: [], limits: limits))
        #expect(judgement.report.isWithinLimits, "\(judgement.report.table)")
        let black = judgement.observation.pictures.filter { $0.isBlack && $0.time >= begin }
        #expect(black.isEmpty, "\(black.count) black pictures from \(black.first?.time ?? 0) ms on")
        let promised = ProbeLimits()
        let timing = TimingAnalysis(try recording.trace())
        let times = timing.videoTimes.filter { $0 >= begin }
        let interval = try #require(TimingAnalysis.interval(of: times[...]))
        // Decoding time and composition offset of a picture with B-frames are rounded to whole ms, each.
        let tolerance = isSteady ? promised.videoGapMs + 2 : 3 * interval
        let uneven = zip(times, times.dropFirst()).filter { abs(Double($1 - $0) - interval) > tolerance }
        #expect(times.count > 120 && uneven.isEmpty, "\(times.count) pictures of \(interval) ms, but \(uneven)")
        let last = try #require(times.last)
        let sound = try #require(timing.worstAudioGap(in: begin...last))
        let usual = sound.changesRate ? promised.audioGapAtRateChangeMs : promised.audioGapMs
        let limit = isSteady ? usual : 3 * interval
        #expect(abs(sound.deviation) <= limit, "\(sound)")
    }

    @Test(.timeLimit(.minutes(8))) func theCommandsOfThePageMakeACoStream() async throws {
        let directory = try Workspace.makeDirectory()
        defer { try? FileManager.default.removeItem(at: directory) }
        let place = Place(directory: directory)
        let root = directory.appendingPathComponent("nginx")
        for name in ["modules-enabled", "conf.d", "tmp"] {
            try FileManager.default.createDirectory(
                at: root.appendingPathComponent(name), withIntermediateDirectories: true)
        }
        try Self.mainFile.write(
            to: root.appendingPathComponent("nginx.conf"), atomically: true, encoding: .utf8)
        let blocks = try Self.blocks()
        #expect(blocks.count == 7)
        try await Self.run("step-1", place.adapted(blocks[0]), in: directory)
        // Drops the commands that need a machine of their own.
        let second = place.adapted(blocks[1]).split(separator: "\n").filter {
            !$0.contains("apt-get") && !$0.contains("systemctl")
        }.joined(separator: "\n").replacing("sudo ", with: "")
        try await Self.run("step-2", second, in: directory)
        let main = try String(contentsOf: root.appendingPathComponent("nginx.conf"), encoding: .utf8)
        #expect(main.contains("worker_processes 1;"))

        let nginx = try await Self.startNginx(place)
        let words = blocks[2].split(whereSeparator: \.isWhitespace).map { String($0) }
        #expect(words == [".build/debug/mixorchestrator", "serve", "--config", "obs.yaml"])
        let service = try ManagedProcess(
            "mixorchestrator", Workspace.executable("mixorchestrator"),
            words.dropFirst().dropLast() + [
                directory.appendingPathComponent("obs.yaml").path, "--listen", "127.0.0.1:\(place.service)", "--data",
                directory.appendingPathComponent("data").path, "--layouts",
                Workspace.root.appendingPathComponent("layouts").path,
            ], in: directory,
            environment: ["MIXORCHESTRATOR_ADMISSION_CORES": "0", "MIXORCHESTRATOR_OVERLOAD_HIGHEST_LEVEL": "0"])
        var publishers: [ManagedProcess] = []
        do {
            let client = ServiceClient(port: place.service)
            try await waitUntil("the service answers\n\(service.messages())") {
                guard service.isRunning else { throw EndToEndError("the service ended: \(service.messages())") }
                return (try? await client.request("GET", "/readyz").status) == 200
            }
            func publish(_ name: String, _ command: String) throws -> ManagedProcess {
                let process = try ManagedProcess(
                    name, "/bin/bash", ["-c", "exec " + place.adapted(command)], in: directory)
                publishers.append(process)
                return process
            }
            func waitForOnAir(_ kind: String, _ users: Set<String>? = nil) async throws {
                var last: ServiceClient.TaskState?
                do {
                    try await waitUntil("on air") {
                        last = try await client.task("show")?.state
                        return last?.onAir == kind && (users.map { $0 == last?.users } ?? true)
                    }
                } catch {
                    for one in publishers { print("--- \(one.name)\n\(one.messages(last: 20))") }
                    throw EndToEndError("not \(kind) of \(users?.sorted() ?? []): \(String(describing: last))")
                }
            }
            // A viewer at the CDN from before the beginning, because this nginx does not wait for a keyframe.
            let cdn = ProbeRecorder(
                url: "rtmp://127.0.0.1:\(place.rtmp)/cdn/show", path: directory.appendingPathComponent("cdn.flv").path)
            try cdn.start()
            defer { cdn.stop() }
            let statistics = ServiceClient(port: place.stat)
            try await waitUntil("the viewer is at the CDN") {
                (try? await statistics.request("GET", "/stat").text.contains("<name>show</name>")) == true
            }
            _ = try publish("alice", blocks[3])
            try await waitForOnAir("bypass")
            let recorder = ProbeRecorder(
                url: "http://127.0.0.1:\(place.service)/live/show.flv",
                path: directory.appendingPathComponent("show.flv").path)
            try recorder.start()
            try await waitUntil("alice is seen") { recorder.progress.timestamp > 2000 }
            try await waitUntil("alice is seen at the CDN: \(cdn.progress)") { cdn.progress.videoTags > 60 }
            let begin = Int64(cdn.progress.timestamp)
            let bob = try publish("bob", blocks[4])
            try await waitForOnAir("mix", ["alice", "bob"])
            let mixed = recorder.progress.timestamp
            try await waitUntil("both are seen") { recorder.progress.timestamp > mixed + 2000 }
            await bob.stop()
            try await waitForOnAir("bypass")
            let alone = recorder.progress.timestamp
            try await waitUntil("alice is seen again") { recorder.progress.timestamp > alone + 2500 }
            let shown = cdn.progress.videoTags
            try await waitUntil("alice is seen again at the CDN: \(cdn.progress)") {
                cdn.progress.videoTags > shown + 60
            }
            recorder.stop()
            cdn.stop()
            let trace = try await recorder.recording().trace()
            let times = trace.video.map(\.frame.dts.roundedMilliseconds)
            let longest = zip(times, times.dropFirst()).map { $1 - $0 }.max() ?? .max
            let shortest = zip(times, times.dropFirst()).map { $1 - $0 }.min() ?? .min
            print("\(times.count) pictures, \(shortest) to \(longest) ms apart")
            #expect(times.count > 60 && shortest > 0 && longest < 3000)
            // The first one begins the program.
            let switches = try await client.task("show")?.state.switches ?? []
            try await Self.judge(await cdn.recording(), from: begin, isSteady: switches.count == 3)
            for path in ["/v1/rooms/show", "/v1/tasks/auto-show"] {
                #expect(blocks[6].contains(path))
                #expect(try await client.request("GET", path).status == 200)
            }
            let metrics = try await client.request("GET", "/metrics").text
            #expect(metrics.contains(#"hook_polls_total{hook="nginx-rtmp",result="read"}"#))
            #expect(!metrics.contains("hook_corrections_total{"), "nothing was unreported")
        } catch {
            print(
                "--- nginx\n\((try? String(contentsOf: root.appendingPathComponent("error.log"), encoding: .utf8)) ?? "")"
            )
            print("--- service\n\(service.messages())")
            for publisher in publishers { await publisher.stop() }
            await service.stop()
            await nginx.stop()
            throw error
        }
        for publisher in publishers { await publisher.stop() }
        await service.stop()
        await nginx.stop()
    }
}
