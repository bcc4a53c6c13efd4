import EventSubscription
import Foundation
import FoundationXML
import HTTPTypes
import TaskStore
import Testing

@testable import HTTPInterface
@testable import MixOrchestrator

/// The answers of `/` to requests that differ from those of most SDKs.
@Suite(.timeLimit(.minutes(5))) struct WireAnswerTests {
    /// Returns the texts of the elements of this name, in order.
    private static func texts(_ name: String, in xml: String) throws -> [String] {
        let document = try XMLDocument(xmlString: xml)
        return try document.nodes(forXPath: "//\(name)").map { $0.stringValue ?? "" }
    }

    @Test(arguments: WireCaller.Signature.allCases)
    func callsMayAskForXML(_ signature: WireCaller.Signature) async throws {
        try await WireRouteTests.run { [mix = WireRouteTests.mix] caller in
            var caller = caller
            caller.signature = signature
            let xml = ["Format": "XML"]
            let url = "rtmp://127.0.0.1/live/s1?a=<&b=]]>"
                .replacing("<", with: "%3C").replacing(">", with: "%3E").replacing("]]", with: "%5D")
            let started = try await caller.call(
                "StartLiveMPUTask", mix.merging(["StreamURL": url]) { $1 }.merging(xml) { $1 })
            #expect(
                started.status == 200 && started.headers[.contentType] == "text/xml;charset=utf-8", "\(started.text)")
            let id = try #require(try Self.texts("StartLiveMPUTaskResponse/RequestId", in: started.text).first)
            #expect(UUID(uuidString: id) != nil && started.text.hasPrefix("<?xml version=\"1.0\" encoding=\"UTF-8\"?>"))
            let detail = try await caller.call("ListRtcMPUTaskDetail", xml.merging(["TaskId": "task-1"]) { $1 })
            #expect(try Self.texts("MPUTasks/StreamURL", in: detail.text) == [url])
            #expect(try Self.texts("UserPanes/Width", in: detail.text) == ["0.5", "0.5"])
            // The answer is JSON unless the request asks for XML, in any case.
            for (format, type) in [("xml", "text/xml"), ("JSON", "application/json"), ("YAML", "application/json")] {
                let answer = try await caller.call("ListRTCLiveRooms", ["Format": format])
                #expect(answer.headers[.contentType] == "\(type);charset=utf-8")
            }
        }
    }

    @Test func errorsAreInXMLToo() async throws {
        try await WireRouteTests.run { caller in
            let refused = try await caller.call(
                "StartLiveMPUTask", ["Format": "XML", "ChannelId": "<a&\"b\u{1}>", "TaskId": "t"])
            #expect(refused.status == 400 && refused.headers[.contentType] == "text/xml;charset=utf-8")
            #expect(try Self.texts("Error/Code", in: refused.text) == ["InvalidParam"])
            let message = try #require(try Self.texts("Error/Message", in: refused.text).first)
            #expect(message.contains("<a&\"b\u{FFFD}>"), "\(message)")
            #expect(try Self.texts("Error/HostId", in: refused.text).count == 1)
            // A caller that has not signed may ask for XML too.
            let unsigned = try await caller.bench.call(.post, "/?Format=XML")
            #expect(try Self.texts("Error/Code", in: unsigned.text) == ["MissingAccessKeyId"])
            let accepting = try await caller.bench.call(.post, "/", headers: [.accept: "application/xml"])
            #expect(try Self.texts("Error/Code", in: accepting.text) == ["MissingAccessKeyId"])
            let either = try await caller.bench.call(.post, "/", headers: [.accept: "application/json, text/xml"])
            #expect(try either.value("Code") == "MissingAccessKeyId")
        }
    }

    @Test func everyKindOfValueIsWritten() {
        let text = XMLText.of(
            [
                "A": .array([.string("x\r\n\u{FFFF}"), .number(0.5), .array([.boolean(true)])]), "B": .object([:]),
                "C": .null, "D": .array([]),
            ], root: "R")
        #expect(
            String(decoding: text, as: UTF8.self)
                == "<?xml version=\"1.0\" encoding=\"UTF-8\"?><R><A>x&#13;\n\u{FFFD}</A><A>0.5</A><A>true</A><B></B><C></C></R>"
        )
    }

    /// Callers that sign with another algorithm are told so, instead of being told that their signature is wrong.
    @Test(arguments: [
        "ACS3-HMAC-SM3", "ACS3-RSA-SHA256", "ACS3-RSA-SM2", "ACS4-HMAC-SHA256", "Bearer",
    ]) func otherAlgorithmsOfHeadersAreRefused(_ algorithm: String) async throws {
        try await WireRouteTests.run { caller in
            var (uri, headers) = caller.signed("ListRTCLiveRooms", ["AppId": "shop"])
            let signed = try #require(headers[.authorization])
            headers[.authorization] = signed.replacing("ACS3-HMAC-SHA256", with: algorithm)
            let answer = try await caller.bench.call(.post, uri, headers: headers)
            try WireRouteTests.expectError(answer, 400, "UnsupportedSignatureMethod", "ACS3-HMAC-SHA256")
            uri += "&Format=XML"
            let xml = try await caller.bench.call(.post, uri, headers: headers)
            #expect(try Self.texts("Error/Code", in: xml.text) == ["UnsupportedSignatureMethod"])
        }
    }

    @Test(arguments: [
        ("SignatureMethod", "HMAC-SM3"), ("SignatureMethod", "SHA256withRSA"), ("SignatureMethod", "HMAC-SHA256"),
        ("SignatureType", "PRIVATEKEY"), ("SignatureType", "BEARERTOKEN"), ("SignatureVersion", "2.0"),
    ]) func otherAlgorithmsOfParametersAreRefused(_ name: String, _ value: String) async throws {
        try await WireRouteTests.run { caller in
            var caller = caller
            caller.signature = .rpc
            // The signature itself is correct; the algorithm is what the service refuses.
            let answer = try await caller.call("ListRTCLiveRooms", [name: value])
            #expect(answer.status == 400)
            let (uri, _) = caller.signed("ListRTCLiveRooms", ["AppId": "shop"])
            let changed = uri.replacing(#/\b(SignatureMethod|SignatureType|SignatureVersion)=[^&]*/#) { match in
                match.1 == name ? "\(name)=\(value)" : String(match.0)
            }
            let refused = try await caller.bench.call(.post, changed)
            try WireRouteTests.expectError(refused, 400, "UnsupportedSignatureMethod", value)
        }
    }

    // MARK: Names of actions

    private static let action = HTTPField.Name("x-acs-action") ?? .cacheControl

    @Test func aHeaderThatIsNotSignedNamesNoAction() async throws {
        try await WireRouteTests.run { caller in
            var caller = caller
            caller.signature = .rpc
            try WireRouteTests.expectDone(try await caller.call("StartLiveMPUTask", WireRouteTests.single))
            // The signature does not cover this header, which a proxy could add.
            let (uri, _) = caller.signed("", ["AppId": "shop", "TaskId": "task-1"])
            let named = try await caller.bench.call(.post, uri, headers: [Self.action: "StopLiveMPUTask"])
            try WireRouteTests.expectError(named, 400, "MissingParam", "Action")
            let (other, _) = caller.signed("ListRtcMPUTaskDetail", ["AppId": "shop", "TaskId": "task-1"])
            let replaced = try await caller.bench.call(.post, other, headers: [Self.action: "StopLiveMPUTask"])
            try WireRouteTests.expectError(replaced, 400, "InvalidParam", "Action")
            let (same, _) = caller.signed("ListRtcMPUTaskDetail", ["AppId": "shop", "TaskId": "task-1"])
            let answer = try await caller.bench.call(.post, same, headers: [Self.action: "ListRtcMPUTaskDetail"])
            #expect(try answer.value("MPUTasks.0.TaskId") == "task-1")
        }
    }

    @Test func theVersionIsTakenFromWhatIsSigned() async throws {
        try await WireRouteTests.run { caller in
            var caller = caller
            caller.signature = .rpc
            let (uri, _) = caller.signed("ListRTCLiveRooms", ["AppId": "shop", "Version": ""])
            let version = try #require(HTTPField.Name("x-acs-version"))
            let answer = try await caller.bench.call(.post, uri, headers: [version: "2016-11-01"])
            try WireRouteTests.expectError(answer, 400, "MissingParam", "Version")
        }
    }
}
