import Foundation
import HTTPTypes
import TestSupport

@testable import MixOrchestrator

/// Makes requests from the document's examples and damages them.
struct RequestFuzzer {
    struct Request {
        var method: HTTPRequest.Method
        var uri: String
        var headers: HTTPFields
        var body: [UInt8]?
    }

    private var random: SeededGenerator
    /// The URLs at which clients follow rooms.
    private let followed = #/(/rooms/)[^/?]*(/feed|/channel)/#
    private let examples: [(operation: OpenAPIDocument.Operation, request: OpenAPIRequest)]

    init(seed: UInt64) throws {
        random = SeededGenerator(seed: seed)
        let document = try OpenAPIDocument()
        examples = try document.operations.flatMap { operation in
            try OpenAPIRequest.all(of: operation, in: document).map { (operation, $0) }
        }
    }

    private mutating func chance(_ oneIn: Int) -> Bool { Int.random(in: 0..<oneIn, using: &random) == 0 }
    private mutating func pick<Element>(_ elements: [Element], or other: Element) -> Element {
        elements.randomElement(using: &random) ?? other
    }

    mutating func next() -> Request? {
        guard let example = examples.randomElement(using: &random) else { return nil }
        let (operation, request) = example
        var method = HTTPRequest.Method(operation.method) ?? .get
        var uri = request.uri
        // Playing a program and following a room never end, so that these requests name a room that does not exist.
        if ["watch", "watchOfApp", "followRoom", "followMessages"].contains(operation.id) {
            uri = uri.replacing("demo", with: "nobody")
        } else if chance(3) {
            uri = uri.replacing("demo", with: pick(["a", "b", "c", "room-1"], or: "a"))
        }
        var headers = request.headers
        var body = request.body.map { Array($0.utf8) }
        if operation.path == "/" { (uri, headers) = call(method) }
        if chance(12) { method = pick(Self.methods, or: .get) }
        for _ in 0..<Int.random(in: 0...3, using: &random) {
            switch Int.random(in: 0..<6, using: &random) {
            case 0: uri = spoiled(uri: uri)
            case 1: uri += (uri.contains("?") ? "&" : "?") + pick(Self.parameters, or: "limit") + "=" + encodedText()
            case 2: headers[pick(Self.names, or: .accept)] = text(pick([8, 40, 300, 5000], or: 8))
            case 3:
                if let name = headers.map(\.name).randomElement(using: &random) { headers[name] = nil }
            default: body = spoiled(body ?? Array(#"{"a":1}"#.utf8))
            }
        }
        if method == .get {
            // The same holds for another operation or a damaged URL that has become such a request.
            uri = uri.replacing(followed) { "\($0.1)nobody\($0.2)" }
            if uri.contains(".flv") { uri = uri.replacing("demo", with: "nobody") }
        }
        return Request(method: method, uri: uri, headers: headers, body: body)
    }

    private static let methods: [HTTPRequest.Method] = [.get, .head, .post, .put, .patch, .delete, .options, .trace]
    private static let parameters = [
        "limit", "after", "app", "auth_key", "canvas", "participants", "state", "room", "cause", "since", "x", "Format",
    ]
    private static let names: [HTTPField.Name] = {
        let known: [HTTPField.Name] = [
            .authorization, .accept, .contentType, .range, .origin, .ifMatch, .ifNoneMatch, .cookie,
        ]
        let others: [String] = [
            "Idempotency-Key", "X-Request-Id", "Last-Event-ID", "ce-specversion", "ce-id", "ce-type", "Sec-Fetch-Site",
            "x-acs-action", "x-acs-date", "Prefer",
        ]
        return known + others.compactMap { HTTPField.Name($0) }
    }()

    // MARK: Parts

    /// Returns a correctly signed call, which gets past the check of the signature.
    private mutating func call(_ method: HTTPRequest.Method) -> (String, HTTPFields) {
        let actions = [
            "StartLiveMPUTask", "UpdateLiveMPUTask", "StopLiveMPUTask", "SetLiveMpuTaskSei", "ListRtcMPUTaskDetail",
            "DescribeChannelUsers", "DescribeChannelParticipants", "ListRTCLiveRooms", "DeleteChannel",
            "RemoveTerminals",
            "CreateEventSub", "UpdateEventSub", "DeleteEventSub", "ListEventSub", "ListEventSubEvent",
            "CreateRtcMPUEventSub", "UpdateRtcMPUEventSub", "DeleteRtcMPUEventSub", "DescribeRtcMPUEventSub",
            "ListRtcMPUEventSubRecord", "Nothing",
        ]
        var parameters = pick([WireRouteTests.single, WireRouteTests.mix, ["TaskId": "task-1"]], or: [:])
        parameters["AppId"] = "shop"
        let more = [
            "PageNo": "1", "PageSize": "10", "CallbackUrl": "http://127.0.0.1:9/x", "Events.1": "UserEvent",
            "StartTime": "1700000000", "EndTime": "1700003600", "CustomSei": "{}", "TerminalIds.1": "host",
            "ChannelId": "room1", "SubscribeId": "sub-example", "ChannelIds": "a,b", "Format": "XML", "Order": "asc",
        ]
        for key in more.keys.sorted() where chance(2) { parameters[key] = more[key] }
        for key in parameters.keys.sorted() where chance(8) {
            parameters[key] =
                chance(2) ? text(60) : String(decoding: spoiled(Array((parameters[key] ?? "").utf8)), as: UTF8.self)
        }
        return WireCaller.signed(pick(actions, or: ""), parameters, method: method, chance(2) ? .acs3 : .rpc)
    }

    private mutating func text(_ bytes: Int) -> String {
        let nasty = pick(NastyText.allCases, or: .plain)
        switch Int.random(in: 0..<4, using: &random) {
        case 0: return nasty.text(Int.random(in: 1...bytes, using: &random))
        case 1:
            return String(
                String.UnicodeScalarView(
                    (0..<Int.random(in: 0...8, using: &random)).compactMap { _ in
                        Unicode.Scalar(UInt32.random(in: 0...0x10FFFF, using: &random))
                    }))
        case 2: return "\(Int.random(in: .min ... .max, using: &random))"
        default:
            return pick(
                ["", "-1", "0", "*", "\"1\"", "W/\"1\"", "bytes=0-0", "null", "true", "1e999", "Bearer x"], or: "")
        }
    }

    private mutating func encodedText() -> String {
        text(200).utf8.map { String(format: "%%%02X", $0) }.joined()
    }

    private mutating func spoiled(uri: String) -> String {
        var parts = uri.split(separator: "/", omittingEmptySubsequences: false).map(String.init)
        guard parts.count > 1 else { return uri }
        let index = Int.random(in: 1..<parts.count, using: &random)
        parts[index] = encodedText()
        return parts.joined(separator: "/")
    }

    private mutating func spoiled(_ bytes: [UInt8]) -> [UInt8] {
        var bytes = bytes
        for _ in 0..<Int.random(in: 1...4, using: &random) {
            let at = Int.random(in: 0...bytes.count, using: &random)
            let end = min(bytes.count, at + Int.random(in: 0...12, using: &random))
            switch Int.random(in: 0..<7, using: &random) {
            case 0: bytes.removeSubrange(at..<end)
            case 1: bytes.insert(contentsOf: bytes[at..<end], at: at)
            case 2 where at < bytes.count: bytes[at] = UInt8.random(in: 0...255, using: &random)
            case 3: bytes.insert(contentsOf: Array(pick(NastyText.allCases, or: .plain).json(200).utf8), at: at)
            case 4: bytes.insert(contentsOf: Array(pick(Self.words, or: "{").utf8), at: at)
            case 5: bytes = Array(bytes.prefix(at))
            default: bytes = numbersChanged(bytes)
            }
        }
        return bytes
    }

    private static let words = [
        "{", "}", "[", "]", ",", ":", "null", "true", "1e308", "-0", "9223372036854775808", "1e-400", "\"\"",
        "\u{FEFF}",
        "\\ud800", "[[[[[[[[", "\"user\":\"b\",", "\"room\":\"demo\",", "\"layout\":\"mine\",",
    ]

    /// Returns the document with one of its numbers replaced.
    private mutating func numbersChanged(_ bytes: [UInt8]) -> [UInt8] {
        let text = String(decoding: bytes, as: UTF8.self)
        let matches = text.matches(of: #/\d+/#)
        guard let match = matches.randomElement(using: &random) else { return bytes }
        let number = pick(["0", "-1", "1e18", "9007199254740993", "-9223372036854775808", "0.5", "1e400"], or: "0")
        return Array(text.replacingCharacters(in: match.range, with: number).utf8)
    }
}
