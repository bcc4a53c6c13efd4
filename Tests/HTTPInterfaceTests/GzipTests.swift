import Foundation
import TestSupport
import Testing

@testable import HTTPInterface

/// Compressed bytes, unpacked by gzip itself.
struct GzipTests {
    private func unpacked(_ files: [[UInt8]]) throws -> [[UInt8]] {
        let directory = FileManager.default.temporaryDirectory.appending(path: "gzip-\(UUID().uuidString)")
        try FileManager.default.createDirectory(at: directory, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(at: directory) }
        for (number, file) in files.enumerated() {
            try Data(#require(Gzip.compressed(file))).write(to: directory.appending(path: "\(number).gz"))
        }
        let process = Process()
        process.executableURL = URL(filePath: "/bin/sh")
        process.arguments = ["-c", "gzip -d *.gz"]
        process.currentDirectoryURL = directory
        try process.run()
        process.waitUntilExit()
        #expect(process.terminationStatus == 0)
        return try files.indices.map { Array(try Data(contentsOf: directory.appending(path: "\($0)"))) }
    }

    @Test func anythingComesBack() throws {
        var random = SeededGenerator(announcedFor: "gzip")
        var files: [[UInt8]] = [[], [0], [7, 7, 7], Array(repeating: 65, count: 70_000)]
        for _ in 0..<40 {
            // A few values repeat often and many rarely; earlier pieces repeat at any distance.
            let most = UInt8.random(in: 1...255, using: &random)
            var file: [UInt8] = []
            while file.count < Int.random(in: 0...60_000, using: &random) {
                if file.count > 10, Bool.random(using: &random) {
                    let start = Int.random(in: 0..<file.count - 3, using: &random)
                    let length = Int.random(in: 3...400, using: &random)
                    file += Array(file[start..<min(start + length, file.count)])
                } else {
                    file.append(.random(in: 0...most, using: &random))
                }
            }
            files.append(file)
        }
        // Frequencies that form a Fibonacci sequence need codes of more than 15 bits.
        var counts = [1, 1]
        while counts.count < 24 { counts.append(counts.suffix(2).reduce(0, +)) }
        files.append(
            counts.enumerated().flatMap { [UInt8](repeating: UInt8($0 * 7), count: $1) }.shuffled(using: &random))
        #expect(try unpacked(files) == files, "seed \(random.seed)")
    }

    @Test func aScriptBecomesAThirdAsLarge() throws {
        let root = URL(filePath: #filePath).deletingLastPathComponent().appending(path: "../..").standardizedFileURL
        let script = Array(try Data(contentsOf: root.appending(path: "pages/assets/player.js")))
        let compressed = try #require(Gzip.compressed(script))
        #expect(compressed.count * 5 < script.count * 2)
    }

    @Test(
        arguments: [
            (nil, false), ("", false), ("gzip", true), ("br, GZIP;q=0.5", true), ("gzip;q=0", false),
            ("gzip; q=0.0", false),
            ("identity", false), ("*", false), ("gzipped", false), ("deflate , gzip ", true), ("gzip;q=x", false),
        ] as [(String?, Bool)])
    func whoTakesIt(header: String?, takes: Bool) {
        #expect(AcceptedEncodings.takesGzip(header) == takes)
    }
}
