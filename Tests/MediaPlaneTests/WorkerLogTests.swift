import Logging
import Synchronization
import Testing

@testable import ProgramRelay

@Suite struct WorkerLogTests {
    private final class Printed: Sendable {
        private let state = Mutex<[String]>([])
        var lines: [String] { state.withLock { $0 } }
        func append(_ line: String) { state.withLock { $0.append(line) } }
    }

    /// Untrusted text, such as ids of users or answers of servers, is printed as plain text.
    @Test func aLineOfTheLogIsOneLine() throws {
        let printed = Printed()
        var logger = Logger(label: "relay") { label in
            StreamLogHandler(label: label, stream: WorkerLog.Lines(print: printed.append))
        }
        logger[metadataKey: "task"] = "auto-x\ny"
        logger.warning("source a\n2026-01-01 error : forged\r\n\u{1B}[2J ended")
        let line = try #require(printed.lines.first)
        #expect(printed.lines.count == 1)
        #expect(line.utf8.count { $0 == 0x0A } == 1 && line.hasSuffix("\n"))
        #expect(line.contains(#"source a\n2026-01-01 error : forged\r\n\u001b[2J ended"#))
        #expect(line.contains(#"auto-x\ny"#))
    }
}
