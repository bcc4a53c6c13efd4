import Foundation
import HTTPTypes
import NIOCore
import TaskStore
import TestSupport
import Testing

@testable import HTTPInterface
@testable import MixOrchestrator

/// Limits on the resources that callers without a token or signature can hold.
@Suite(.timeLimit(.minutes(5))) struct UnsignedCallerTests {
    /// The request that each of 200 connections sends, and the part that it withholds.
    enum Shape: String, CaseIterable, Codable, Sendable {
        case unsigned, form, formWithKey, forged, json, method, head, viewer

        static let keyed = "AccessKeyId=shop-key&Signature=AAAAAAAAAAAAAAAAAAAAAAAAAAA%3D&Action=ListRTCLiveRooms"
        private static let rest = "Host: localhost\r\nContent-Length: 1048576\r\n"
        private static let formType = "Content-Type: application/x-www-form-urlencoded\r\n"

        var head: String {
            switch self {
            case .unsigned: "POST / HTTP/1.1\r\n\(Self.rest)\r\n"
            case .form: "POST / HTTP/1.1\r\n\(Self.formType)\(Self.rest)\r\n"
            case .formWithKey:
                "POST /?\(Self.keyed) HTTP/1.1\r\n\(Self.formType)Host: localhost\r\nContent-Length: 65536\r\n\r\n"
            case .forged:
                "POST / HTTP/1.1\r\nAuthorization: ACS3-HMAC-SHA256 Credential=shop-key,SignedHeaders=host,"
                    + "Signature=00\r\n\(Self.rest)\r\n"
            case .json: "POST /v1/events HTTP/1.1\r\nContent-Type: application/json\r\n\(Self.rest)\r\n"
            case .method: "PUT /v1/rooms/demo HTTP/1.1\r\n\(Self.rest)\r\n"
            case .head: "GET /\(String(repeating: "a", count: 60_000)) HTTP/1.1\r\nX: "
            case .viewer: "GET /live/demo.flv HTTP/1.1\r\n\(Self.rest)\r\n"
            }
        }
        /// The number of body bytes to send: all but the last one.
        var bodyBytes: Int {
            switch self {
            case .head: 0
            case .formWithKey: 65_535
            default: 1_048_575
            }
        }
    }

    private static let connections = 200
    /// 32 MiB in a release build, where half of that is usual. Debug builds take twice as much.
    private static var limit: Int {
        #if DEBUG
            64 << 20
        #else
            32 << 20
        #endif
    }

    /// Runs in its own process, so that other tests do not count.
    @Test(arguments: Shape.allCases) func twoHundredHoldLittle(_ shape: Shape) async throws {
        let result = await #expect(processExitsWith: .success, observing: [\.standardErrorContent]) { [shape] in
            do {
                let growth = try await UnsignedCallerTests.growth(shape)
                try FileHandle.standardError.write(contentsOf: Data("\(growth)".utf8))
                exit(EXIT_SUCCESS)
            } catch {
                try FileHandle.standardError.write(contentsOf: Data("\(error)".utf8))
                exit(4)
            }
        }
        let text = String(decoding: result?.standardErrorContent ?? [], as: UTF8.self)
        let growth = try #require(Int(text))
        print("200 unsigned callers, \(shape.rawValue): \(growth >> 10) KiB")
        #expect(growth <= Self.limit)
    }

    /// Returns the growth of the process in bytes while 200 connections withhold a part of their requests.
    private static func growth(_ shape: Shape) async throws -> Int {
        let settings = AccessTests.apps().merging(WireCaller.settings.filter { $0.key.contains("accessKeys") }) { $1 }
            .merging(["http.rate.failures": ["0"]]) { $1 }
        let growth = LockedBox(0)
        try await withDirectory { directory in
            try await withOrchestrator(.live, directory: directory, store: MemoryTaskStore(), settings: settings) {
                bench in
                let port = try #require(bench.client.port)
                // One-time allocations happen now.
                for _ in 0..<20 { _ = try await bench.call(.get, "/healthz") }
                for _ in 0..<20 { _ = try await bench.call(.post, "/", "a=b") }
                let before = ProcessMemory.resident
                var clients: [PlainClient] = []
                for _ in 0..<connections { clients.append(try PlainClient(port: port)) }
                for client in clients { client.send(shape.head.utf8) }
                let piece = [UInt8](repeating: UInt8(ascii: "a"), count: 32_767)
                var left = clients.map { _ in shape.bodyBytes }
                // Sends until the service has taken nothing for a while.
                var idle = 0
                while idle < 50, left.contains(where: { $0 > 0 }) {
                    idle += 1
                    for (index, client) in clients.enumerated() where left[index] > 0 {
                        let count = client.send(piece.prefix(left[index]))
                        if count < 0 { left[index] = 0 } else { left[index] -= count }
                        if count > 0 { idle = 0 }
                    }
                    try await Task.sleep(for: .milliseconds(5))
                }
                try await Task.sleep(for: .milliseconds(300))
                growth.value = ProcessMemory.resident - before
                #expect(try await bench.call(.get, "/healthz").status == 200)
                clients.removeAll()
            }
        }
        return growth.value
    }

    // MARK: Answers before the body

    private static func run(
        _ settings: [String: [String]] = [:], _ body: @escaping @Sendable (Bench, Int) async throws -> Void
    ) async throws {
        try await withDirectory { directory in
            try await withOrchestrator(
                .live, directory: directory, store: MemoryTaskStore(),
                settings: WireCaller.settings.merging(["http.rate.failures": ["0"]]) { $1 }.merging(settings) { $1 }
            ) { bench in try await body(bench, try #require(bench.client.port)) }
        }
    }

    @Test(arguments: [
        (Shape.unsigned, "MissingAccessKeyId"), (.forged, "IncompleteSignature"),
    ]) func whatNoBodyCanMakeGoodIsRefusedWithoutIt(_ shape: Shape, _ code: String) async throws {
        try await Self.run { _, port in
            let connection = try await RawConnection.open(port)
            connection.send(shape.head)
            try await eventually { connection.text.contains(code) ? true : nil }
            #expect(connection.text.hasPrefix("HTTP/1.1 400 "))
            connection.close()
        }
    }

    @Test func anUnknownKeyIsRefusedWithoutTheForm() async throws {
        try await Self.run { _, port in
            let connection = try await RawConnection.open(port)
            connection.send(Shape.formWithKey.head.replacing("shop-key", with: "no-key"))
            try await eventually { connection.text.contains("InvalidAccessKeyId.NotFound") ? true : nil }
            connection.close()
        }
    }

    @Test func formsOfStrangersHaveABoundAndANumber() async throws {
        try await Self.run { bench, port in
            let long = try await RawConnection.open(port)
            long.send(Shape.formWithKey.head.replacing("65536", with: "65537"))
            try await eventually { long.text.contains("too large") ? true : nil }
            #expect(long.text.hasPrefix("HTTP/1.1 413 "))
            var connections: [RawConnection] = []
            for _ in 0..<40 {
                let connection = try await RawConnection.open(port)
                connection.send(Shape.formWithKey.head + "a=")
                connections.append(connection)
            }
            // The order of the connections is not determined.
            let refused = try await eventually("not eight are refused") { [connections] in
                let refused = connections.filter { !$0.text.isEmpty }
                return refused.count == 8 && refused.allSatisfy { $0.text.contains("ServiceUnavailable") }
                    ? refused : nil
            }
            #expect(refused.allSatisfy { $0.text.hasPrefix("HTTP/1.1 503 ") })
            // A caller that proves its identity in the head needs no place.
            let caller = WireCaller(bench: bench)
            for signature in WireCaller.Signature.allCases {
                var caller = caller
                caller.signature = signature
                try WireRouteTests.expectDone(try await caller.call("ListRTCLiveRooms"))
            }
            #expect(connections.count { $0.text.isEmpty } == 32, "the others wait")
            for connection in connections { connection.close() }
        }
    }

    @Test func aFormIsSignedWithItsParameters() async throws {
        try await Self.run { bench, _ in
            let (uri, _) = WireCaller.signed("ListRTCLiveRooms", ["AppId": "shop"], method: .post)
            let query = String(uri.dropFirst(2))
            let type: HTTPFields = [.contentType: "application/x-www-form-urlencoded"]
            // Parameters may be in the form, or split between the query and the form.
            let whole = try await bench.call(.post, "/", query, headers: type)
            try WireRouteTests.expectDone(whole)
            let (second, _) = WireCaller.signed("ListRTCLiveRooms", ["AppId": "shop"], method: .post)
            let parts = second.dropFirst(2).split(separator: "&").map(String.init)
            let answer = try await bench.call(
                .post, "/?" + parts.dropFirst(3).joined(separator: "&"), parts.prefix(3).joined(separator: "&"),
                headers: type)
            try WireRouteTests.expectDone(answer)
            let again = try await bench.call(.post, "/", query, headers: type)
            #expect(try again.value("Code") == "SignatureNonceUsed")
        }
    }

    @Test func aGateLetsSomeIn() async throws {
        let gate = BodyGate(most: 2, mostOfAddress: 1)
        let same = await gate.pass(from: "a") { await gate.pass(from: "a") { 1 } }
        #expect(same == .some(.none))
        // Each address has its own places, and their total is limited.
        let third = await gate.pass(from: "a") {
            await gate.pass(from: "b") { await gate.pass(from: "c") { 1 } }
        }
        #expect(third == .some(.some(.none)))
        #expect(await gate.pass(from: "a") { 2 } == 2)
        await #expect(throws: TimedOut.self) { _ = try await gate.pass(from: "a") { throw TimedOut() } }
        #expect(await gate.pass(from: "a") { 3 } == 3)
    }
}
