import Foundation
import Testing

/// `make test-long` runs the tests that `LONG_TESTS` in the Makefile lists. A test with a long form that is not listed
/// there never runs in it.
struct TestLengthTests {
    private static let root = ModuleEdgesTests.sources.deletingLastPathComponent()

    /// Returns the listed tests, which are suites, or functions (or the beginnings of their names) after a slash.
    private static func listed() throws -> [(suite: String, function: String?)] {
        let makefile = try String(contentsOf: root.appending(path: "Makefile"), encoding: .utf8)
        let values = makefile.split(separator: "\n").compactMap { line in
            line.hasPrefix("LONG_TESTS :=") ? line.split(separator: " ").last : nil
        }
        return values.flatMap { $0.split(separator: "|") }.filter { !$0.hasPrefix("$") }.map { test in
            let parts = test.split(separator: "/", maxSplits: 1).map(String.init)
            return (suite: parts[0], function: parts.count > 1 ? parts[1] : nil)
        }
    }

    /// Returns the sources of the tests by the names of their files, which are those of the suites. Suites of different
    /// targets may share a name.
    private static func sources() throws -> [String: [String]] {
        let tests = root.appending(path: "Tests")
        var sources: [String: [String]] = [:]
        for path in try FileManager.default.subpathsOfDirectory(atPath: tests.path) where path.hasSuffix(".swift") {
            let file = tests.appending(path: path)
            let suite = file.deletingPathExtension().lastPathComponent.prefix { $0 != "+" }
            sources[String(suite), default: []].append(try String(contentsOf: file, encoding: .utf8))
        }
        return sources
    }

    @Test func everySuiteWithALongFormIsListed() throws {
        let listed = Set(try Self.listed().map(\.suite))
        let long = try Self.sources().filter { suite, texts in
            texts.contains { text in ["of(", "isLong"].contains { text.contains("TestLength.\($0)") } }
        }
        #expect(long.count > 30)
        #expect(Set(long.keys).subtracting(listed).sorted() == [])
    }

    @Test func everyListedTestExists() throws {
        let sources = try Self.sources()
        for (suite, function) in try Self.listed() {
            let texts = sources[suite] ?? []
            #expect(!texts.isEmpty, "\(suite)")
            if let function { #expect(texts.contains { $0.contains("func \(function)") }, "\(suite)/\(function)") }
        }
    }
}
