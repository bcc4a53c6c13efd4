import EventSubscription
import Foundation
import MixModel
import Testing

@testable import HTTPInterface

/// Answers, lists and webhooks in 100ms' format.
@Suite struct HMSViewTests {
    private func session(_ id: String = "s1", at time: Double = 1_769_889_600) -> HMSSession {
        var session = HMSSession(
            id: id, kind: .externalStream, room: RoomID(app: "shop", name: "a room"), session: "x", accessKey: "key",
            base: "http://a", at: time)
        session.outputs = [HMSSession.Output(id: "o", url: "rtmp://a/b/c")]
        session.size = HMSSession.Size(width: 1280, height: 720)
        session.recorder = HMSSession.Recorder(id: "r", isOwn: true)
        session.meetingURL = "https://a.example"
        return session
    }

    private func fields(_ value: JSONValue) -> [String: JSONValue] {
        if case .object(let fields) = value { fields } else { [:] }
    }

    @Test func anExternalStream() {
        let view = fields(session().view())
        #expect(view["created_at"] == .string("2026-01-31T20:00:00.000Z"))
        #expect(view["status"] == .string("starting") && view["started_at"] == .null && view["stopped_at"] == .null)
        #expect(view["started_by"] == .string("") && view["recording_assets"] == .null)
        #expect(view["rtmp_urls"] == .array([.string("rtmp://a/b/c")]) && view["recording"] == .boolean(true))
        #expect(view["resolution"] == .object(["width": .number(1280), "height": .number(720)]))
        #expect(view["room_id"] == .string("a room") && view["playback"] == nil)
    }

    @Test func webhooksOfABeam() {
        var session = session()
        session.startedAt = session.createdAt + 2
        session.stoppedAt = session.createdAt + 62
        session.reason = "client request"
        session.assets = [
            HMSAsset(id: "a1", kind: .composite, file: "x.mp4", size: 9, duration: 60, createdAt: session.createdAt)
        ]
        func data(_ event: HMSNotice.Event) -> (JSONValue?, [String: JSONValue]) {
            let notice = HMSNotice(id: "n1", event: event, at: 1_769_889_600)
            let body = fields(session.body(of: notice, urls: ["a1": "http://a/x"]))
            #expect(body["version"] == .string("2.0") && body["id"] == .string("n1"))
            #expect(body["timestamp"] == .string("2026-01-31T20:00:00.000Z"))
            let data = fields(body["data"] ?? .null)
            #expect(data["metadata_id"] == .string("n1") && data["metadata_timestamp"] == body["timestamp"])
            #expect(data["template_id"] == .string(""))
            return (body["type"], data)
        }
        let started = data(.started)
        #expect(started.0 == .string("beam.started.success") && started.1["start_delay"] == .number(2))
        #expect(started.1["rtmp"] == .array([.object(["url": .string("rtmp://a/b/c")])]))
        #expect(started.1["beam_id"] == .string("s1") && started.1["max_width"] == .number(1280))
        let stopped = data(.stopped)
        #expect(stopped.0 == .string("beam.stopped.success") && stopped.1["duration"] == .number(60))
        #expect(stopped.1["reason"] == .string("client request"))
        let recorded = data(.recorded)
        #expect(recorded.0 == .string("beam.recording.success") && recorded.1["size"] == .number(9))
        #expect(recorded.1["recording_path"] == .string("/v1/rooms/a%20room/recordings/x.mp4"))
        #expect(recorded.1["recording_presigned_url"] == .string("http://a/x"))
        session.failure = HMSSession.Failure(kind: .retries, message: "refused")
        let failed = data(.failed)
        #expect(failed.0 == .string("beam.failure") && failed.1["error_type"] == .string("MAX_RETRIES_REACHED"))
        #expect(failed.1["error_message"] == .string("refused"))
    }

    /// Files without a URL, such as those that were removed meanwhile, are told without one.
    @Test func theRecordingWebhookOfALiveStream() {
        var session = HMSSession(
            id: "s1", kind: .liveStream, room: RoomID(app: "shop", name: "demo"), session: "x", accessKey: "key",
            base: "http://a", at: 0)
        session.assets = [("a1", HMSAsset.Kind.composite), ("a2", .composite), ("a3", .onDemand)].map {
            HMSAsset(id: $0.0, kind: $0.1, file: "x", duration: 60, createdAt: 0)
        }
        let urls = ["a1": "http://a/1", "a3": "http://a/3"]
        let body = fields(session.body(of: HMSNotice(id: "n", event: .recorded, at: 0), urls: urls))
        let data = fields(body["data"] ?? .null)
        #expect(data["hls_vod_recording_presigned_url"] == .string("http://a/3"))
        guard case .array(let files)? = data["recording_single_files"] else {
            Issue.record("no files")
            return
        }
        #expect(files.map { fields($0)["recording_presigned_url"] } == [.string("http://a/1"), nil])
        #expect(data["recording_presigned_url"] == nil)
    }

    @Test func picturesAreListedWithTheirFiles() throws {
        var session = session()
        session.status = .completed
        session.assets = ["x.mp4", "y.mp4"].map {
            HMSAsset(id: "id-\($0)", kind: .composite, file: $0, size: 9, duration: 60, createdAt: session.createdAt)
        }
        session.assets.append(
            HMSAsset(id: "vod", kind: .onDemand, file: "x", duration: 60, createdAt: session.createdAt))
        func thumbnails(_ pictured: Set<String>) -> [JSONValue?] {
            guard case .array(let assets)? = fields(session.view(pictured: pictured))["recording_assets"] else {
                return []
            }
            return assets.map { fields($0)["thumbnails"] }
        }
        let path = JSONValue.string("/v1/rooms/a%20room/recordings/y.jpg")
        #expect(thumbnails([]) == [.array([]), .array([]), .array([])])
        #expect(thumbnails(["y.mp4", "other.mp4"]) == [.array([]), .array([path]), .array([path])])
    }

    @Test(arguments: [HMSSession.Kind.externalStream, .liveStream, .recording])
    func onlyFilesOfLiveStreamsHaveLayers(kind: HMSSession.Kind) {
        var session = HMSSession(
            id: "s1", kind: kind, room: "demo", session: "x", accessKey: "key", base: "http://a", at: 0)
        session.size = HMSSession.Size(width: 1280, height: 720)
        func metadata(_ kind: HMSAsset.Kind) -> [String: JSONValue] {
            let asset = HMSAsset(id: "a1", kind: kind, file: "x", duration: 60, createdAt: 0)
            return fields(fields(session.assetView(asset, []))["metadata"] ?? .null)
        }
        let layers: JSONValue? = kind == .liveStream ? .string("1") : nil
        let layer: JSONValue? = kind == .liveStream ? .string("0") : nil
        let file = metadata(.composite)
        #expect(file["resolution"] == .object(["width": .number(1280), "height": .number(720)]))
        #expect(file["num_layers"] == layers && file["layer"] == layer)
        let kept = metadata(.onDemand)
        #expect(kept["num_layers"] == layers && kept["layer"] == nil)
    }

    @Test func pagesAreWalkedAsSDKsDo() throws {
        let entries = Array(0..<25)
        func page(_ entries: [Int], _ start: String?) -> [String: JSONValue] {
            let page = HMSPage(
                HMSPage.entries(of: entries, 10, after: start, id: { "e\($0)" }), 10, id: { "e\($0)" },
                view: { .number(Double($0)) })
            return fields(page.document)
        }
        var seen: [JSONValue] = []
        var start: String?
        for _ in 0..<10 {
            let page = page(entries, start)
            guard case .array(let data)? = page["data"], case .string(let last)? = page["last"] else { break }
            seen += data
            start = last
            if data.count < 10 { break }
        }
        #expect(seen == entries.map { .number(Double($0)) })
        let empty = page([], nil)
        #expect(empty["last"] == .string("") && empty["data"] == .array([]))
    }

    @Test func theBookForgetsTheOldest() {
        var book = HMSBook()
        for index in 0..<HMSBook.mostOver + 2 {
            var session = session("s\(index)", at: Double(index))
            session.status = .completed
            session.holdsRoom = false
            book.put(session)
        }
        #expect(Set(book.surplus()) == ["s0", "s1"])
        for id in book.surplus() { book.remove(id) }
        #expect(book.surplus().isEmpty && book.hasRoom)
        for index in 0..<HMSBook.mostLive { book.put(session("live\(index)")) }
        #expect(!book.hasRoom && book.active.count == HMSBook.mostLive)
        let list = book.list("shop", HMSBook.Filter(kind: .externalStream, status: .completed))
        #expect(list.first?.id == "s\(HMSBook.mostOver + 1)")
        #expect(book.list("other", HMSBook.Filter()).isEmpty)
        #expect(book.list("shop", HMSBook.Filter(room: "other")).isEmpty)
    }

    /// `hundredms.webhook.url` was removed while webhooks waited.
    @Test(arguments: [true, false]) func sessionsDoNotWaitForWebhooksThatAreOff(hasWebhooks: Bool) {
        var found: [HMSSession] = []
        for index in 0...HMSBook.mostOver {
            var session = session("s\(index)", at: Double(index))
            session.status = .completed
            session.holdsRoom = false
            session.outbox = [HMSNotice(id: "n", event: .stopped, at: 1)]
            found.append(session)
        }
        let book = HMSBook(found, hasWebhooks: hasWebhooks)
        #expect(book.surplus() == (hasWebhooks ? [] : ["s0"]))
        #expect(book.active.isEmpty != hasWebhooks)
    }

    @Test func sessionsAreReadAsTheyWereWritten() throws {
        let directory = FileManager.default.temporaryDirectory.appendingPathComponent(HMSSession.newID()).path
        defer { try? FileManager.default.removeItem(atPath: directory) }
        let files = try HMSFiles(data: directory)
        var session = session()
        session.outbox = [HMSNotice(id: "n", event: .started, at: 1)]
        try files.write(session)
        session.status = .running
        try files.write(session)
        try Data("{".utf8).write(to: URL(filePath: files.directory + "/broken.json"))
        try FileManager.default.copyItem(
            atPath: files.directory + "/s1.json", toPath: files.directory + "/another.json")
        #expect(files.found() == [session])
        files.remove("s1")
        #expect(files.found().isEmpty)
    }

    @Test func callersOfARoomTakeTurns() async throws {
        let lanes = HMSLanes()
        let order = Order()
        try await withThrowingTaskGroup(of: Void.self) { group in
            for _ in 0..<20 {
                group.addTask {
                    try await lanes.pass("demo") {
                        await order.enter()
                        await Task.yield()
                        await order.leave()
                    }
                }
            }
            try await group.waitForAll()
        }
        #expect(await order.most == 1)
        #expect(await order.count == 20)
        #expect(!lanes.isBusy("demo"))
    }

    @Test func tooManyCallersOfARoomAreRefused() async throws {
        let lanes = HMSLanes()
        let (gate, open) = AsyncStream.makeStream(of: Void.self)
        try await withThrowingTaskGroup(of: Bool.self) { group in
            // One call runs, the queue is full, and one call is refused.
            for _ in 0..<HMSLanes.longest + 2 {
                group.addTask {
                    do {
                        try await lanes.pass("demo") { for await _ in gate {} }
                        return true
                    } catch is HMSFault {
                        return false
                    }
                }
            }
            let first = try await group.next()
            #expect(first == false)
            open.finish()
            var passed = 0
            for try await isServed in group where isServed { passed += 1 }
            #expect(passed == HMSLanes.longest + 1)
        }
    }

    private actor Order {
        var inside = 0
        var most = 0
        var count = 0
        func enter() {
            inside += 1
            count += 1
            most = max(most, inside)
        }
        func leave() { inside -= 1 }
    }
}
