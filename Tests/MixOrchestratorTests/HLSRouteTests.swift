import Foundation
import HTTPTypes
import Hummingbird
import MixModel
import Testing

@testable import HTTPInterface
@testable import MixOrchestrator
@testable import RoomService

/// HLS over HTTP: settings, state, and the files that a packager writes.
@Suite(.timeLimit(.minutes(5))) struct HLSRouteTests {
    @Test func itComesAndGoesWithoutTouchingTheOutputs() async throws {
        try await withDirectory { directory in
            try await withOrchestrator(directory: directory, settings: ["rooms.outputs": []]) { bench in
                // A room that does not exist has no HLS.
                #expect(try await bench.call(.put, "/v1/rooms/demo/hls").status == 404)
                try await bench.publish("alice")
                #expect(bench.relays.started.isEmpty, "no output, no HLS, no program")
                let body = #"{"metadata":"stage","enableVOD":true,"renditions":[{"height":360,"videoBitrate":400000}]}"#
                let asked = try await bench.call(.put, "/v1/rooms/demo/hls", body)
                #expect(asked.status == 200, "\(asked.text)")
                #expect(try !asked.isTrue("running"))
                let plan = try await bench.plan { $0.outputs.hls != nil }
                #expect(
                    plan.outputs.destinations.isEmpty && plan.outputs.hls?.directory == "\(directory)/hls/default/demo")
                #expect(plan.outputs.hls?.settings.renditions == [HLSRendition(height: 360, videoBitrate: 400_000)])
                #expect(plan.outputs.hls?.settings.metadata == "stage" && plan.outputs.hls?.settings.enableVOD == true)

                // An empty body leaves all settings at their defaults.
                #expect(try await bench.call(.put, "/v1/rooms/demo/hls").status == 200)
                try await bench.plan { $0.outputs.hls?.settings == HLSSettings() }
                let outputs = #"{"hls":true,"outputs":[{"id":"a","url":"rtmp://127.0.0.1/x"}]}"#
                #expect(try await bench.call(.put, "/v1/rooms/demo", outputs).status == 200)
                try await bench.plan { $0.outputs.destinations.count == 1 && $0.outputs.hls != nil }
                #expect(try await bench.call(.delete, "/v1/rooms/demo/hls").status == 204)
                try await bench.plan { $0.outputs.destinations.count == 1 && $0.outputs.hls == nil }
            }
        }
    }

    @Test func theRoomShowsItsVariants() async throws {
        let status = HLSStatus(
            service: ServiceState(running: true), session: "1700000000000", startedAt: 1_700_000_000,
            variants: [
                HLSVariantStatus(name: "video", metadata: "stage", width: 1280, height: 720, bandwidth: 1_600_000),
                HLSVariantStatus(name: "360p", width: 640, height: 360, bandwidth: 500_000, error: "too slow"),
            ])
        let view = HLSView(status, settings: HLSSettings(enableVOD: true), room: RoomID("demo"))
        #expect(view.variants.map(\.url) == ["/live/demo/index.m3u8", "/live/demo/hls/1700000000000/360p.m3u8"])
        #expect(view.variants[0].metadata == "stage" && view.variants[0].startedAt == "2023-11-14T22:13:20Z")
        #expect(view.onDemand?.archive == "/live/demo/vod/1700000000000.zip")
        #expect(HLSView(nil, settings: nil, room: RoomID("demo")).variants.isEmpty)
    }

    @Test(arguments: [
        (#"{"segmentSeconds":0}"#, "segmentSeconds"), (#"{"renditions":[{}]}"#, "renditions[0].height"),
        (#"{"renditions":[{"height":361}]}"#, "renditions[0].height"), (#"{"renditon":[]}"#, "renditon"),
    ]) func whatCannotBeMadeIsRefused(body: String, field: String) async throws {
        try await withDirectory { directory in
            try await withOrchestrator(directory: directory) { bench in
                try await bench.publish("alice")
                let answer = try await bench.call(.put, "/v1/rooms/demo/hls", body)
                #expect(try answer.value("field") == field, "\(answer.text)")
                #expect(answer.status == 422)
                let inRoom = try await bench.call(.put, "/v1/rooms/demo", #"{"hls":\#(body)}"#)
                #expect(try inRoom.value("field") == "hls.\(field)", "\(inRoom.text)")
            }
        }
    }

    @Test func viewersGetPlaylistsAndSegments() async throws {
        try await withDirectory { directory in
            try KeptFiles.makeSession(directory)
            try await withOrchestrator(directory: directory, settings: ["playback.cors": ["*"]]) { bench in
                let master = try await bench.call(.get, "/live/demo/index.m3u8")
                #expect(master.status == 200, "\(master.text)")
                #expect(master.text.contains("\nhls/1700000000000/video.m3u8\n"))
                #expect(master.headers[.contentType] == "application/vnd.apple.mpegurl")
                #expect(
                    master.headers[.accessControlAllowOrigin] == "*" && master.headers[.cacheControl] == "max-age=1")
                let base = "/live/demo/hls/1700000000000"
                let media = try await bench.call(.get, "\(base)/video.m3u8")
                #expect(media.text.contains("\nvideo-1.ts\n"))
                let tag = try #require(media.headers[.eTag])
                let again = try await bench.call(.get, "\(base)/video.m3u8", headers: [.ifNoneMatch: tag])
                #expect(again.status == 304)

                try await bench.client.execute(uri: "\(base)/video-1.ts", method: .get) { response in
                    #expect(Array(response.body.readableBytesView) == KeptFiles.segment)
                    #expect(response.headers[.contentType] == "video/mp2t")
                    #expect(response.headers[.cacheControl]?.contains("immutable") == true)
                }
                try await bench.client.execute(
                    uri: "\(base)/video-1.ts", method: .get, headers: [.range: "bytes=100-199"]
                ) { response in
                    #expect(response.status == .partialContent)
                    #expect(response.headers[.contentRange] == "bytes 100-199/1880")
                    #expect(Array(response.body.readableBytesView) == Array(KeptFiles.segment[100..<200]))
                }
                let beyond = try await bench.call(.get, "\(base)/video-1.ts", headers: [.range: "bytes=1880-"])
                #expect(beyond.status == 416 && beyond.headers[.contentRange] == "bytes */1880")
                try await bench.client.execute(uri: "\(base)/video-1.ts", method: .head) { response in
                    #expect(response.status == .ok && response.headers[.contentLength] == "1880")
                    #expect(response.body.readableBytes == 0)
                }
                for path in [
                    "\(base)/session.json", "\(base)/..%2Fsession.json", "\(base)/video-9.ts", "/live/demo/hls/../x.ts",
                    "/live/demo/hls/1/video.m3u8", "/live/other/index.m3u8", "/live/demo/vod/1700000000000.zip",
                ] {
                    let answer = try await bench.call(.get, path)
                    #expect([404, 409, 422].contains(answer.status), "\(path): \(answer.status) \(answer.text)")
                }
                #expect(try await bench.call(.options, "/live/demo/index.m3u8").status == 204)
            }
        }
    }

    /// Acts as a player, which knows only its URL and the content of playlists.
    @Test func aKeyOpensEverythingThatThePlaylistNames() async throws {
        try await withDirectory { directory in
            try KeptFiles.makeSession(directory)
            let key = "0123456789abcdef"
            try await withOrchestrator(directory: directory, settings: ["playback.key": [key]]) { bench in
                #expect(try await bench.call(.get, "/live/demo/index.m3u8").status == 403)
                let time = Int(Date().timeIntervalSince1970) + 60
                func uri(_ path: String) -> String {
                    "\(path)?auth_key=" + PlaybackAccess.authKey(path: path, time: time, key: key)
                }
                let master = try await bench.call(.get, uri("/live/demo/index.m3u8"))
                #expect(master.status == 200, "\(master.text)")
                let line = try #require(master.text.split(separator: "\n").last { !$0.hasPrefix("#") })
                let media = try await bench.call(.get, "/live/demo/\(line)")
                #expect(media.status == 200, "\(media.text)")
                let segment = try #require(media.text.split(separator: "\n").last { !$0.hasPrefix("#") })
                let path = "/live/demo/hls/1700000000000/\(segment)"
                #expect(try await bench.call(.get, path).status == 200)
                #expect(try await bench.call(.get, path.replacing("-2.ts", with: "-1.ts")).status == 403)
            }
        }
    }

    @Test func whatWasKeptIsOneFileThatCanBeUnpacked() async throws {
        try await withDirectory { directory in
            try KeptFiles.makeSession(directory, isEnded: true)
            try await withOrchestrator(directory: directory) { bench in
                let uri = "/live/demo/vod/1700000000000.zip"
                let whole = try await bench.client.execute(uri: uri, method: .get) { response in
                    #expect(response.status == .ok && response.headers[.contentType] == "application/zip")
                    #expect(response.headers[.contentLength] == "\(response.body.readableBytes)")
                    return Array(response.body.readableBytesView)
                }
                let range = 1500..<4000
                try await bench.client.execute(
                    uri: uri, method: .get, headers: [.range: "bytes=\(range.lowerBound)-\(range.upperBound - 1)"]
                ) { response in
                    #expect(response.status == .partialContent)
                    #expect(Array(response.body.readableBytesView) == Array(whole[range]))
                }
                try await bench.client.execute(uri: uri, method: .get, headers: [.range: "bytes=0-"]) { response in
                    #expect(response.status == .partialContent)
                    #expect(response.headers[.contentRange] == "bytes 0-\(whole.count - 1)/\(whole.count)")
                }
                let file = "\(directory)/all.zip"
                try Data(whole).write(to: URL(fileURLWithPath: file))
                let program = """
                    import sys, zipfile
                    z = zipfile.ZipFile(sys.argv[1])
                    assert z.testzip() is None
                    assert sorted(z.namelist()) == ['index.m3u8', 'video-0.ts', 'video-1.ts', 'video-2.ts', 'video-vod.m3u8']
                    assert b'video-vod.m3u8' in z.read('index.m3u8')
                    assert len(z.read('video-1.ts')) == 1880
                    """
                let python = Process()
                python.executableURL = URL(fileURLWithPath: "/usr/bin/env")
                python.arguments = ["python3", "-c", program, file]
                try python.run()
                python.waitUntilExit()
                #expect(python.terminationStatus == 0)
            }
        }
    }

    @Test("beyond 4 GiB, or 65 534 entries, it is a ZIP64")
    func large() {
        let entries = (0..<3).map {
            ZipArchive.Entry(name: "\($0).ts", size: 2 << 30, checksum: 1)
        }
        let archive = ZipArchive(entries, directory: "/nowhere")
        let end = bytes(archive.length - 98..<archive.length, of: archive)
        #expect(end.starts(with: [0x50, 0x4B, 6, 6]) && Array(end[56..<60]) == [0x50, 0x4B, 6, 7])
        #expect(Array(end[76..<80]) == [0x50, 0x4B, 5, 6] && Array(end[92..<96]) == [0xFF, 0xFF, 0xFF, 0xFF])
        #expect(archive.length > 6 << 30)
        #expect(archive.slice(at: 40..<50)?.part == .file(path: "/nowhere/0.ts", size: 2 << 30))
        let many = ZipArchive(
            (0..<65_535).map { ZipArchive.Entry(name: "\($0)", size: 0, checksum: 0, content: []) }, directory: "/")
        #expect(bytes(many.length - 98..<many.length, of: many).starts(with: [0x50, 0x4B, 6, 6]))
    }

    private func bytes(_ range: Range<Int>, of archive: ZipArchive) -> [UInt8] {
        guard case (.bytes(let bytes), let slice)? = archive.slice(at: range) else { return [] }
        return Array(bytes[slice])
    }

    @Test func whatIsOverIsTakenAwayInTime() throws {
        let directory = NSTemporaryDirectory() + "hls-retention-\(UUID().uuidString)"
        defer { try? FileManager.default.removeItem(atPath: directory) }
        try KeptFiles.makeSession(directory, name: "1700000000000", isEnded: true)
        try KeptFiles.makeSession(directory, name: "1700000000001")
        let files = HLSFiles(directory: "\(directory)/hls")
        let room = RoomID("demo")
        func sweep(after seconds: Double, kept: Double?) {
            HLSRetention(files: files, kept: kept, logger: .init(label: "test")).sweep(now: Date() + seconds)
        }
        func sessions() -> [String] { HLSFiles.sessions(in: files.directory(of: room)) }
        sweep(after: 1000, kept: 2000)
        #expect(sessions() == ["1700000000001", "1700000000000"])
        sweep(after: 1e9, kept: nil)
        #expect(sessions().count == 2)
        sweep(after: 2100, kept: 2000)
        #expect(sessions() == ["1700000000001"], "the other was not ended")
        sweep(after: 4000, kept: 2000)
        #expect(sessions() == [])
    }

    /// Rooms with random names would fill the disk with directories.
    @Test func theDirectoryOfARoomWithoutHLSIsRemoved() throws {
        let directory = NSTemporaryDirectory() + "hls-retention-\(UUID().uuidString)"
        defer { try? FileManager.default.removeItem(atPath: directory) }
        let files = HLSFiles(directory: "\(directory)/hls")
        func exists(_ room: String) -> Bool { access(files.directory(of: RoomID(room)), F_OK) == 0 }
        func sweep(after seconds: Double) {
            HLSRetention(files: files, kept: nil, logger: .init(label: "test")).sweep(now: Date() + seconds)
        }
        try KeptFiles.makeSession(directory, room: "kept", isEnded: true)
        for room in ["locked", "left", "empty", "other"] {
            try FileManager.default.createDirectory(
                atPath: files.directory(of: RoomID(room)), withIntermediateDirectories: true)
        }
        let locks = try ["locked", "left"].map { room in
            let path = "\(files.directory(of: RoomID(room)))/lock"
            try Data().write(to: URL(filePath: path))
            return open(path, O_RDWR | O_CLOEXEC)
        }
        try Data().write(to: URL(filePath: "\(files.directory(of: "other"))/notes"))
        for lock in locks { #expect(flock(lock, LOCK_EX | LOCK_NB) == 0) }
        close(locks[1])
        sweep(after: 3500)
        #expect(["kept", "locked", "left", "empty", "other"].allSatisfy(exists), "a packager may need it again")
        sweep(after: 4000)
        #expect(["kept", "locked", "other"].allSatisfy(exists) && !exists("left") && !exists("empty"))
        close(locks[0])
        sweep(after: 4000)
        #expect(["kept", "other"].allSatisfy(exists) && !exists("locked"))
    }

    /// The machine was lost, and the room did not come back.
    @Test func aKeptSessionThatHasLostItsPackagerIsEnded() throws {
        let directory = NSTemporaryDirectory() + "hls-retention-\(UUID().uuidString)"
        defer { try? FileManager.default.removeItem(atPath: directory) }
        let name = "1700000000000"
        try KeptFiles.makeSession(directory, name: name)
        let files = HLSFiles(directory: "\(directory)/hls")
        let room = files.directory(of: RoomID("demo"))
        let session = "\(room)/\(name)"
        func text(_ file: String) throws -> String {
            try String(contentsOfFile: "\(session)/\(file)", encoding: .utf8)
        }
        let media = try text("video.m3u8")
        let grown = media.replacing(
            "#EXT-X-TARGETDURATION:4\n", with: "#EXT-X-TARGETDURATION:4\n#EXT-X-PLAYLIST-TYPE:EVENT\n")
        let master = try text("index.m3u8")
        for (file, text) in [
            ("video-event.m3u8", grown), ("event.m3u8", master.replacing("video.m3u8", with: "video-event.m3u8")),
        ] { try text.write(toFile: "\(session)/\(file)", atomically: true, encoding: .utf8) }
        func sweep(after seconds: Double) {
            HLSRetention(files: files, kept: nil, logger: .init(label: "test")).sweep(now: Date() + seconds)
        }
        sweep(after: 3500)
        #expect(HLSFiles.facts(session)?.isEnded == false, "its packager may come back")
        let lock = open("\(room)/lock", O_RDWR | O_CREAT | O_CLOEXEC, 0o600)
        #expect(flock(lock, LOCK_EX | LOCK_NB) == 0)
        sweep(after: 4000)
        #expect(HLSFiles.facts(session)?.isEnded == false, "its packager is there, and cannot write")
        close(lock)
        sweep(after: 4000)
        let facts = HLSFiles.facts(session)
        #expect(facts?.isEnded == true && facts?.settings.enableVOD == true)
        let end = "#EXT-X-ENDLIST\n"
        #expect(try text("video.m3u8") == media + end && text("video-event.m3u8") == grown + end)
        #expect(try text("video-vod.m3u8") == grown.replacing(":EVENT", with: ":VOD") + end)
        #expect(try text("vod.m3u8") == master.replacing("video.m3u8", with: "video-vod.m3u8"))
        #expect(HLSArchive.make(session)?.entryCount == 5)
        sweep(after: 8000)
        #expect(try text("video-vod.m3u8") == grown.replacing(":EVENT", with: ":VOD") + end)
    }

    @Test(
        arguments: [
            (nil, ByteRange.whole), ("bytes=0-9", .part(0..<10)), ("bytes=90-", .part(90..<100)),
            ("bytes=-5", .part(95..<100)),
            ("bytes=50-500", .part(50..<100)), ("bytes=100-", .unsatisfiable), ("bytes=5-2", .whole),
            ("lines=1-2", .whole),
            ("bytes=0-1,5-6", .whole), ("bytes=-0", .unsatisfiable), ("bytes=-500", .part(0..<100)),
        ] as [(String?, ByteRange)]) func ranges(header: String?, range: ByteRange)
    {
        #expect(ByteRange(header, length: 100) == range)
    }
}
