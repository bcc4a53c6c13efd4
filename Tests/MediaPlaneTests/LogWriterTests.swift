import Foundation
import Testing

@testable import ProgramRelay

@Suite(.timeLimit(.minutes(3))) struct LogWriterTests {
    /// The pipe has no reader: the writer fills it and then its buffer, and the caller is not blocked.
    @Test func aFullPipeHoldsUpNobodyAndWhatIsLostIsCounted() throws {
        let pipe = Pipe()
        let log = LogWriter(descriptor: pipe.fileHandleForWriting.fileDescriptor, limit: 10_000)
        let line = String(repeating: "x", count: 99) + "\n"
        let count = 5_000
        let start = ContinuousClock.now
        for _ in 0..<count { log.write(line) }
        #expect(ContinuousClock.now - start < .seconds(5))
        log.flush(within: 0.05)
        let reading = Thread {
            log.flush(within: 60); try? pipe.fileHandleForWriting.close()
        }
        // The line with the count follows the lines that waited.
        reading.start()
        var bytes: [UInt8] = []
        while let piece = try pipe.fileHandleForReading.read(upToCount: 1 << 16), !piece.isEmpty { bytes += piece }
        let lines = String(decoding: bytes, as: UTF8.self).split(separator: "\n")
        let written = lines.count { $0.hasPrefix("xxx") }
        let lost = lines.compactMap { line in
            line.hasSuffix("they were not written in time") ? line.split(separator: " ").first.flatMap { Int($0) } : nil
        }.reduce(0, +)
        #expect(written >= 100 && lost > 0)
        #expect(written + lost == count)
    }

    @Test func linesComeInOrder() throws {
        let pipe = Pipe()
        let log = LogWriter(descriptor: pipe.fileHandleForWriting.fileDescriptor)
        for number in 0..<200 { log.write("\(number)\n") }
        log.flush(within: 30)
        try pipe.fileHandleForWriting.close()
        let text = String(decoding: try pipe.fileHandleForReading.readToEnd() ?? Data(), as: UTF8.self)
        #expect(text == (0..<200).map { "\($0)\n" }.joined())
    }
}
