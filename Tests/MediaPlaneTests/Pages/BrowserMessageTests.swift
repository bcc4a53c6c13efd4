import Foundation
import Testing

@testable import PageCapture

/// Messages of a browser's debugging pipe: every byte may come from a page.
struct BrowserMessageTests {
    private static func bytes(_ text: String) -> [UInt8] { Array(text.utf8) }

    @Test(arguments: 1...7) func messagesAreDividedWhereverTheyAreCut(_ size: Int) {
        let stream = Self.bytes("{\"id\":1}\0\0{\"method\":\"x\"}\0{\"id\"")
        var messages = BrowserMessages()
        var found: [String] = []
        for start in stride(from: 0, to: stream.count, by: size) {
            let part = stream[start..<min(start + size, stream.count)]
            found += messages.take(part).map { String(decoding: $0, as: UTF8.self) }
        }
        #expect(found == ["{\"id\":1}", "", "{\"method\":\"x\"}"] && messages.waiting == 5)
    }

    @Test func aMessageThatIsTooLongIsLeftOut() {
        var messages = BrowserMessages()
        let chunk = [UInt8](repeating: 0x61, count: 60_000)
        for _ in 0..<40 {
            #expect(messages.take(chunk).isEmpty && messages.waiting <= BrowserMessages.longest)
        }
        #expect(messages.take([0] + Self.bytes("{}") + [0]) == [Self.bytes("{}")] && messages.skipped == 1)
    }

    @Test func answersAndEventsAreRead() {
        let answer = BrowserMessage(
            Self.bytes(#"{"id":7,"result":{"sessionId":"s","errorText":"net::ERR","more":[1]}}"#))
        #expect(answer?.id == 7 && answer?.result?.sessionId == "s" && answer?.result?.errorText == "net::ERR")
        let value = BrowserMessage(Self.bytes(#"{"id":8,"result":{"result":{"type":"boolean","value":true}}}"#))
        #expect(value?.result?.result?.isTrue == true)
        let number = BrowserMessage(Self.bytes(#"{"id":8,"result":{"result":{"type":"number","value":1}}}"#))
        #expect(number?.result?.result?.isTrue == false)
        let event = BrowserMessage(
            Self.bytes(
                #"{"method":"Runtime.consoleAPICalled","sessionId":"s","params":{"type":"log","args":[{"value":"START"},{"value":{}}]}}"#
            ))
        #expect(event?.params?.args?.first?.text == "START" && event?.params?.args?.last?.text == nil)
    }

    @Test func answersOfTheProxyAreToldFromThoseOfServers() {
        func response(_ headers: String) -> BrowserMessage.Response? {
            let text = #"{"method":"x","params":{"response":{"status":403,"headers":\#(headers)}}}"#
            return BrowserMessage(Self.bytes(text))?.params?.response
        }
        let own = response(#"{"Content-Length":"0","x-mixorchestrator-proxy":"refused"}"#)
        #expect(own?.status == 403 && own?.headers?.proxyFault == .refused)
        for headers in [
            "{}", "null", "[]", "3", #"{"x-mixorchestrator-proxy":1}"#, #"{"x-mixorchestrator-proxy":"x"}"#,
        ] {
            let other = response(headers)
            #expect(other?.status == 403 && other?.headers?.proxyFault == nil, "\(headers)")
        }
    }

    @Test(arguments: ["", "null", "[]", "{\"id\":\"x\"}", "{\"params\":3}", "{", "\u{FEFF}"])
    func whatIsNoMessageIsNone(_ text: String) { #expect(BrowserMessage(Self.bytes(text)) == nil) }

    @Test func nestingDoesNotEndTheProcess() {
        let deep = String(repeating: "[", count: 100_000)
        #expect(BrowserMessage(Self.bytes("{\"id\":1,\"result\":\(deep)")) == nil)
    }

    @Test func aCommandIsOneMessage() throws {
        let command = BrowserCommand(
            id: 3, method: "Page.navigate", params: ["url": .text("https://a/\"\0"), "x": .flag(true)], sessionId: nil)
        #expect(command.bytes.last == 0 && command.bytes.dropLast().allSatisfy { $0 != 0 })
        let read = try JSONSerialization.jsonObject(with: Data(command.bytes.dropLast())) as? [String: Any]
        #expect((read?["params"] as? [String: Any])?["url"] as? String == "https://a/\"\0")
    }
}
