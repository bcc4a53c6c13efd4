import Foundation

/// Compares many viewers of one program over HTTP-FLV with as many over RTMP from nginx-rtmp: the time to the first
/// picture, the cost of a viewer, and the effect on the program.
///
/// `mixworker` has to be beside `mixorchestrator`; the working directory is the package's root; ffmpeg publishes.
enum PlaybackBenchmark {
    static let kilobits = 1400

    static func run(_ binary: String, viewers: Int, seconds: Int) async throws {
        let worker = URL(fileURLWithPath: binary).deletingLastPathComponent().appendingPathComponent("mixworker").path
        guard access(worker, X_OK) == 0 else {
            print("playback: skipped, mixworker is not at \(worker)\n")
            return
        }
        let server = try Server(binary)
        defer { server.stop() }
        try await server.start()
        let media = try MediaServer(directory: server.directory + "/media")
        defer { media.stop() }
        print("playback: \(viewers) viewers of one program, 720×1280 at 25 fps, \(kilobits) kbit/s + 96 kbit/s audio")
        let film = server.directory + "/film.flv"
        try ffmpeg(
            "-f lavfi -i testsrc2=size=720x1280:rate=25 -f lavfi -i sine=frequency=440:sample_rate=48000 -t 20 -c:v libx264 "
                + "-preset ultrafast -bf 0 -g 50 -keyint_min 50 -sc_threshold 0 -b:v \(kilobits)k -minrate \(kilobits)k "
                + "-maxrate \(kilobits)k -bufsize 700k -x264-params nal-hrd=cbr:force-cfr=1 -pix_fmt yuv420p -c:a aac -b:a 96k -y \(film)"
        ).waitUntilExit()
        let publisher = try ffmpeg("-re -stream_loop -1 -i \(film) -c copy -f flv \(media.url("live/one"))")
        defer { publisher.terminate() }
        let port = server.port
        try await send("PUT", "/v1/rooms/demo", #"{"outputs":[{"id":"main","url":"\#(media.url("cdn/demo"))"}]}"#, port)
        try await send(
            "POST", "/v1/rooms/demo/events",
            #"{"type":"stream.published","user":"alice","url":"\#(media.url("live/one"))"}"#, port)
        let socket = server.directory + "/data/relays/auto-demo.sock"
        let limit = Date().addingTimeInterval(30)
        while access(socket, F_OK) != 0, Date() < limit { try await Task.sleep(for: .milliseconds(50)) }
        try await Task.sleep(for: .seconds(4))

        // Measures the program at its relay, in a thread of its own: alone, and with viewers.
        func withProgram(_ name: String, _ body: () async throws -> Void) async throws {
            let program = ViewerSwarm(.flv, request: Array("{\"viewFLV\":{}}\n".utf8), longest: 60) {
                ViewerSwarm.connect(path: socket)
            }
            program.start(1, perSecond: 1)
            try await Task.sleep(for: .seconds(1))
            program.measure()
            try await body()
            let figures = program.stop()
            print("  the program at its relay, \(name): \(lateness(figures)), \(figures.gaps) gaps")
        }
        try await withProgram("without viewers") { try await Task.sleep(for: .seconds(seconds)) }

        let request = Array("GET /live/demo.flv HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n".utf8)
        try await withProgram("with HTTP-FLV viewers") {
            let swarm = ViewerSwarm(.httpFLV, request: request, longest: 60) { ViewerSwarm.connect(port: port) }
            try await watch(swarm, viewers, seconds, name: "HTTP-FLV", memory: { server.residentMemory() }) {
                server.processorTime()
            }
        }
        try await Task.sleep(for: .seconds(2))
        let rtmp = media.url("").dropFirst("rtmp://127.0.0.1:".count).split(separator: "/").first.flatMap { Int($0) }
        let nginx = nginxWorker(of: server.directory + "/media/nginx.pid")
        try await withProgram("with RTMP viewers") {
            let swarm = ViewerSwarm(.rtmp, request: play(port: rtmp ?? 0), longest: 60) {
                ViewerSwarm.connect(port: rtmp ?? 0)
            }
            try await watch(swarm, viewers, seconds, name: "nginx-rtmp", memory: { residentMemory(of: nginx) }) {
                Server.processorTime(of: nginx)
            }
        }
        print("")
    }

    private static func watch(
        _ swarm: ViewerSwarm, _ viewers: Int, _ seconds: Int, name: String, memory: () -> Int, time: () -> Double
    ) async throws {
        let before = memory()
        swarm.start(viewers, perSecond: 200)
        let limit = Date().addingTimeInterval(Double(viewers) / 200 + 10)
        while swarm.picturesSeen < viewers, Date() < limit { try await Task.sleep(for: .milliseconds(100)) }
        try await Task.sleep(for: .seconds(2))
        swarm.measure()
        let (begin, used) = (monotonicTime(), time())
        try await Task.sleep(for: .seconds(seconds))
        let share = (time() - used) / (Double(monotonicTime() - begin) / 1e9)
        let (after, figures) = (memory(), swarm.stop())
        let perViewer = share / Double(max(viewers, 1)) * 1e6
        print(
            """
              \(name): \(figures.firstPictures.count) viewers got a picture; first picture \
            \(Latencies(figures.firstPictures).summary)
                \((share * 1000).rounded() / 10) % of a core, \(perViewer.rounded()) µs per second and viewer; \
            \(after - before) MiB more; \(figures.frames) pictures, \(figures.gaps) gaps, \(figures.ended) cut off
                pictures at viewers: \(lateness(figures))
            """)
    }

    /// Summarises how late pictures were, compared with the earliest of all.
    private static func lateness(_ figures: ViewerSwarm.Figures) -> String {
        let earliest = figures.lateness.min() ?? 0
        return "late by " + Latencies(figures.lateness.map { ($0 - earliest) * 1000 }).summary
    }

    @discardableResult private static func ffmpeg(_ arguments: String) throws -> Process {
        let process = Process()
        process.executableURL = URL(fileURLWithPath: "/usr/bin/env")
        process.arguments =
            ["ffmpeg", "-nostdin", "-loglevel", "error"] + arguments.split(separator: " ").map(String.init)
        process.standardError = FileHandle.nullDevice
        try process.run()
        return process
    }

    private static func send(_ method: String, _ path: String, _ body: String, _ port: Int) async throws {
        let status = try await HTTPCaller.answer(port: port, HTTPCaller.request(method, path, body))
        guard 200..<300 ~= status else { throw BenchmarkError("\(method) \(path): \(status)") }
    }

    /// Returns `connect`, `createStream` and `play` in one piece (Adobe RTMP 1.0, §7.2).
    private static func play(port: Int) -> [UInt8] {
        func string(_ text: String) -> [UInt8] { [0, UInt8(text.utf8.count)] + Array(text.utf8) }
        func number(_ value: Double) -> [UInt8] {
            [0] + (0..<8).reversed().map { UInt8(truncatingIfNeeded: value.bitPattern >> (8 * UInt64($0))) }
        }
        func message(_ body: [UInt8], stream: UInt8) -> [UInt8] {
            [3, 0, 0, 0, 0, 0, UInt8(body.count), 20, stream, 0, 0, 0] + body
        }
        let connect =
            [2] + string("connect") + number(1) + [3] + string("app") + [2] + string("cdn") + string("tcUrl") + [2]
            + string("rtmp://127.0.0.1:\(port)/cdn") + [0, 0, 9]
        return message(connect, stream: 0) + message([2] + string("createStream") + number(2) + [5], stream: 0)
            + message([2] + string("play") + number(3) + [5, 2] + string("demo") + number(-2000), stream: 1)
    }

    /// Returns the process id of nginx's only worker.
    private static func nginxWorker(of file: String) -> Int32 {
        let main = (try? String(contentsOfFile: file, encoding: .utf8))?.trimmingCharacters(in: .whitespacesAndNewlines)
        let children = try? String(contentsOfFile: "/proc/\(main ?? "")/task/\(main ?? "")/children", encoding: .utf8)
        return children?.split(separator: " ").first.flatMap { Int32($0) } ?? 0
    }

    private static func residentMemory(of process: Int32) -> Int {
        let pages = try? String(contentsOfFile: "/proc/\(process)/statm", encoding: .utf8)
            .split(separator: " ").dropFirst().first.flatMap { Int($0) }
        return ((pages ?? 0) * Int(getpagesize())) >> 20
    }
}
