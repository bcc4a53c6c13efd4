import EventSubscription
import Foundation
import Hummingbird
import Synchronization
import Testing

@testable import MixOrchestrator
@testable import RoomService
@testable import TextFormats

/// Fetches from a real server that misbehaves in many ways.
@Suite(.timeLimit(.minutes(2))) struct FileFetchTests {
    private static func addRoutes(to router: Router<BasicRequestContext>) {
        router.get("red.png") { request, _ in
            if request.headers[.ifNoneMatch] == "\"1\"" { return Response(status: .notModified) }
            return imageResponse(SampleImages.red, eTag: "\"1\"")
        }
        // The type that a server claims is ignored, whether it fits or not.
        router.get("text.png") { _, _ in imageResponse(Array("<html>".utf8)) }
        router.get("png.txt") { _, _ in imageResponse(SampleImages.red, type: "text/plain") }
        router.get("bomb.png") { _, _ in imageResponse(SampleImages.bomb) }
        router.get("empty.png") { _, _ in imageResponse([]) }
        router.get("missing.png") { _, _ in Response(status: .notFound) }
        router.get("endless.png") { _, _ in
            Response(
                status: .ok, headers: [.contentType: "image/png"],
                body: ResponseBody { writer in
                    try await writer.write(ByteBuffer(bytes: SampleImages.red))
                    while true { try await writer.write(ByteBuffer(repeating: 0, count: 65_536)) }
                })
        }
        router.get("slow.png") { _, _ in
            Response(
                status: .ok, headers: [.contentType: "image/png"],
                body: ResponseBody { writer in
                    for byte in SampleImages.red {
                        try await writer.write(ByteBuffer(bytes: [byte]))
                        try await Task.sleep(for: .milliseconds(50))
                    }
                    try await writer.finish(nil)
                })
        }
        router.get("silent.png") { _, _ in
            try await Task.sleep(for: .seconds(5))
            return Response(status: .ok)
        }
        // redirect/3/… leads to redirect/2/…, and redirect/0 to the URL in `to`.
        router.get("redirect/{count}") { request, context in
            let count = try context.parameters.require("count", as: Int.self)
            let target = request.uri.queryParameters["to"].map(String.init) ?? ""
            let next = count > 1 ? "/redirect/\(count - 1)?to=\(target)" : target
            return Response(status: .found, headers: [.location: next])
        }
    }

    private func fetch(_ path: String, mostBytes: Int = 1_000_000) async throws -> Result<Int, FileRefusal> {
        let result = Mutex<Result<Int, FileRefusal>?>(nil)
        try await withImageServer(Self.addRoutes) { base in
            let fetch = FileFetch(allowed: .loopbackOnly, mostBytes: mostBytes)
            do {
                guard case .image(let bytes, _, _) = try await fetch.run(base + path, validators: nil) else { return }
                result.withLock { $0 = .success(bytes.count) }
            } catch let error as FileRefusal {
                result.withLock { $0 = .failure(error) }
            }
        }
        return try #require(result.withLock { $0 })
    }

    @Test(arguments: [
        "/red.png", "/png.txt", "/redirect/1?to=/red.png", "/redirect/3?to=/red.png",
    ])
    func imagesAreFetched(_ path: String) async throws {
        #expect(try await fetch(path) == .success(SampleImages.red.count))
    }

    @Test(arguments: [
        ("/text.png", "HTML"), ("/bomb.png", "16000×16000"), ("/empty.png", "empty"), ("/missing.png", "answered 404"),
        ("/endless.png", "more than 300000 bytes"), ("/redirect/4?to=/red.png", "redirects more than 3 times"),
        ("/redirect/1?to=http://10.0.0.1/red.png", "10.0.0.1 is not in sources.allow"),
        ("/redirect/2?to=http://169.254.169.254/latest", "169.254.169.254 is not in sources.allow"),
        ("/redirect/1?to=http://img.example/red.png", "img.example is not in sources.allow"),
        ("/redirect/1?to=file:///etc/passwd", "not a URL that can be fetched"),
        ("/redirect/1?to=rtmp://127.0.0.1/live", "expected http:// or https://"),
        ("/redirect/1?to=", "redirects"),
    ])
    func whatIsNoGoodImageIsRefused(_ path: String, _ reason: String) async throws {
        guard case .failure(let refusal) = try await fetch(path, mostBytes: 300_000) else {
            Issue.record("\(path) was fetched")
            return
        }
        #expect(refusal.description.contains(reason), "\(refusal)")
    }

    @Test(arguments: ["/slow.png", "/silent.png"]) func whoeverTakesTooLongIsLeft(_ path: String) async throws {
        let limit = Duration.milliseconds(300)
        try await withImageServer(Self.addRoutes) { base in
            let error = await #expect(throws: FileRefusal.self) {
                try await FileFetch(allowed: .loopbackOnly, timeLimit: limit).run(base + path, validators: nil)
            }
            #expect(error?.description.contains("was not received within") == true)
        }
    }

    @Test func anUnchangedImageIsNotSentAgain() async throws {
        try await withImageServer(Self.addRoutes) { base in
            let fetch = FileFetch(allowed: .loopbackOnly)
            guard case .image(_, _, let validators) = try await fetch.run(base + "/red.png", validators: nil) else {
                Issue.record("no image")
                return
            }
            #expect(validators.eTag == "\"1\"")
            guard case .unchanged = try await fetch.run(base + "/red.png", validators: validators) else {
                Issue.record("sent again")
                return
            }
        }
    }

    /// The name is resolved once, and the connection goes to the address that was checked.
    @Test func namesThatLeadIntoTheLocalNetworkAreRefused() async throws {
        try await withImageServer(Self.addRoutes) { base in
            let port = try #require(URL(string: base)?.port)
            let asked = Mutex(0)
            let loopback = try #require(InternetAddress([127, 0, 0, 1]))
            let here: @Sendable (String, Duration) async throws(FileRefusal) -> [InternetAddress] = { _, _ in
                asked.withLock { $0 += 1 }
                return [loopback]
            }
            let names = try AllowList(["http://img.example:\(port)"])
            await #expect(throws: FileRefusal.self) {
                try await FileFetch(allowed: names, resolve: here).run(
                    "http://img.example:\(port)/red.png", validators: nil)
            }
            #expect(asked.withLock { $0 } == 1)
            let both = try AllowList(["http://img.example:\(port)", "http://127.0.0.1:\(port)"])
            let answer = try await FileFetch(allowed: both, resolve: here)
                .run("http://img.example:\(port)/red.png", validators: nil)
            guard case .image = answer else {
                Issue.record("\(answer)")
                return
            }
            #expect(asked.withLock { $0 } == 2)
            // The address counts however the name is written.
            let spelt = try await FileFetch(allowed: both, resolve: here)
                .run("http://IMG.Example:\(port)/red.png", validators: nil)
            guard case .image = spelt else {
                Issue.record("\(spelt)")
                return
            }
        }
    }

    @Test func aServerThatIsNotThereIsNamedWithoutTheURL() async throws {
        let error = await #expect(throws: FileRefusal.self) {
            try await FileFetch(allowed: .loopbackOnly).run("http://127.0.0.1:1/S3CRET?k=S3CRET", validators: nil)
        }
        #expect(error?.description.contains("cannot be fetched") == true)
        #expect(error?.description.contains("S3CRET") == false)
    }
}
