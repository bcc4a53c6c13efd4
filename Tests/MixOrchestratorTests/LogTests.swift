import Foundation
import Logging
import Synchronization
import Testing

@testable import MixOrchestrator
@testable import RoomService

@Suite struct LogTests {
    /// Returns the output of a logger of this format while `body` runs.
    private func lines(_ format: LogFormat, level: Logger.Level = .trace, _ body: (Logger) -> Void) -> [String] {
        let lines = LogRecorder()
        let count = Mutex(0)
        body(
            Logger(label: "test") { _ in
                ServiceLogHandler(format: format, level: level) { line in
                    count.withLock { $0 += 1 }
                    lines.append(line)
                }
            })
        let text = lines.text
        return text.isEmpty ? [] : text.components(separatedBy: "\n")
    }

    @Test func everyJSONLineIsOneObject() throws {
        let nasty = "a\"b\\c\nd\re\tf\u{0}\u{1B}[31m\u{7F} é 🙂"
        let written = lines(.json) { logger in
            var logger = logger
            logger[metadataKey: "room"] = "demo"
            logger.info(
                "\(nasty)",
                metadata: [
                    "event": "\(nasty)", "time": "mine", "list": ["a", "\"b\""], "deep": .dictionary(["x": "y\n"]),
                ])
        }
        #expect(written.count == 1)
        let data = Data(written.joined().utf8)
        let object = try #require(JSONSerialization.jsonObject(with: data) as? [String: Any])
        #expect(object["message"] as? String == nasty)
        #expect(object["event"] as? String == nasty)
        #expect(object["room"] as? String == "demo")
        #expect(object["level"] as? String == "info")
        #expect(object["_time"] as? String == "mine")
        #expect(object["list"] as? [String] == ["a", "\"b\""])
        #expect((object["deep"] as? [String: String])?["x"] == "y\n")
        let time = try #require(object["time"] as? String)
        #expect((try? Date.ISO8601FormatStyle(includingFractionalSeconds: true).parse(time)) != nil)
    }

    @Test func aLineOfTextIsOneLine() throws {
        let written = lines(.text) { $0.warning("one\n\"two\"\u{1B}[31m", metadata: ["task": "auto-demo"]) }
        #expect(written.count == 1)
        #expect(try #require(written.first).hasSuffix(#" warning task=auto-demo one\n"two"\u001b[31m"#))
    }

    @Test(arguments: LogFormat.allCases) func secretsAreTakenOutOfWhateverIsLogged(_ format: LogFormat) {
        let written = lines(format) { logger in
            logger.error("cannot push to rtmp://cdn.example/live/S3CRET?auth=S3CRET now")
            logger.error(
                "x", metadata: ["url": "https://x.example/S3CRET", "list": ["rtmp://a.example/b/S3CRET"]])
            logger.error("Authorization: Bearer S3CRET", metadata: ["header": "bearer  S3CRET"])
        }
        #expect(written.count == 3)
        #expect(!written.joined().contains("S3CRET"))
        #expect(written[0].contains("cdn.example"))
    }

    @Test func aMessageWithoutEndIsCut() throws {
        let written = lines(.json) { $0.info("\(String(repeating: "x", count: 100_000))") }
        #expect(try #require(written.first).count < LogLine.longestText + 200)
    }

    /// A letter with any number of combining marks is one character.
    @Test(arguments: LogFormat.allCases) func aCharacterWithoutEndIsCut(_ format: LogFormat) throws {
        let written = lines(format) { $0.info("e\(String(repeating: "\u{301}", count: 400_000))") }
        #expect(try #require(written.first).utf8.count < LogLine.longestText + 200)
    }

    @Test func noCharacterOfAnyAlphabetEndsALineOfText() throws {
        let written = lines(.text) { $0.warning("a\u{85}b\u{2028}c\u{2029}d\r\ne", metadata: ["user": "x\ny"]) }
        #expect(try #require(written.first).hasSuffix(#" user=x\ny a\u0085b\u2028c\u2029d\r\ne"#))
    }

    @Test func whatIsBelowTheLevelIsNotWritten() {
        #expect(lines(.text, level: .warning) { $0.info("quiet") }.isEmpty)
    }

    @Test func linesAboutARequestHaveItsID() async throws {
        try await withDirectory { directory in
            try await withOrchestrator(directory: directory) { bench in
                let given = try await bench.call(
                    .get, "/v1/rooms/nobody?k=S3CRET", headers: HTTPFieldsOf("X-Request-Id", "trace-17"))
                #expect(given.headers[RequestIDHeader.name] == "trace-17")
                #expect(bench.log.text.contains("GET /v1/rooms/nobody 404"))
                #expect(bench.log.text.contains("trace-17"))
                #expect(!bench.log.text.contains("S3CRET"))
                let odd = try await bench.call(
                    .get, "/healthz",
                    headers: HTTPFieldsOf("X-Request-Id", "a b\"" + String(repeating: "x", count: 200)))
                let made = try #require(odd.headers[RequestIDHeader.name])
                #expect(made.wholeMatch(of: /[0-9a-z]{1,13}-[0-9a-z]+/) != nil, "\(made)")
                #expect(try await bench.call(.get, "/healthz").headers[RequestIDHeader.name] != made)
            }
        }
    }

    @Test func linesAboutARoomNameItAndTheEvent() async throws {
        try await withDirectory { directory in
            try await withOrchestrator(directory: directory) { bench in
                let body = #"{"type":"stream.published","user":"alice","url":"rtmp://127.0.0.1/live/alice"}"#
                let answer = try await bench.call(
                    .post, "/v1/rooms/demo/events", body, headers: HTTPFieldsOf("Idempotency-Key", "event-42"))
                #expect(answer.status == 202)
                try await bench.plan { $0.mode == .bypass("alice/camera") }
                let line = try #require(bench.log.text.split(separator: "\n").first { $0.contains("task starts") })
                for part in ["\"room\": demo", "\"task\": auto-demo", "\"app\": default", "\"event\": event-42"] {
                    #expect(line.contains(part), "\(line)")
                }
            }
        }
    }
}
