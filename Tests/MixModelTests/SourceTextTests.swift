import Foundation
import Testing

/// Rules for the text of sources: the length of files, and the beginnings of summaries in doc comments.
struct SourceTextTests {
    private static let root = ModuleEdgesTests.sources.deletingLastPathComponent()
    /// The largest number of lines of a file.
    private static let mostLines = 350
    /// Words with which no summary begins. A value is described by a noun phrase, an action by a verb phrase.
    private static let vague: Set<Substring> = [
        "As", "How", "It", "Nobody", "Of", "Somebody", "That", "There", "What", "Where", "Which", "Who", "Whoever",
        "Why",
    ]

    /// Returns the lines of the Swift files in a folder of the project.
    private static func files(in folder: String) throws -> [(path: String, lines: [Substring])] {
        let directory = root.appending(path: folder)
        let paths = try FileManager.default.subpathsOfDirectory(atPath: directory.path)
        return try paths.filter { $0.hasSuffix(".swift") }.sorted().map { path in
            let text = try String(contentsOf: directory.appending(path: path), encoding: .utf8)
            return ("\(folder)/\(path)", text.split(separator: "\n", omittingEmptySubsequences: false))
        }
    }

    /// Returns the numbers of the lines whose doc comment begins with a vague word, with the word.
    private static func vagueSummaries(_ lines: [Substring]) -> [(line: Int, word: Substring)] {
        var found: [(line: Int, word: Substring)] = []
        var isInComment = false
        for (index, line) in lines.enumerated() {
            let text = line.drop { $0 == " " }
            let isComment = text.hasPrefix("///")
            if isComment, !isInComment, let word = text.dropFirst(3).split(separator: " ").first, vague.contains(word) {
                found.append((index + 1, word))
            }
            isInComment = isComment
        }
        return found
    }

    @Test(arguments: ["Sources", "Tests"]) func noFileIsTooLong(folder: String) throws {
        for (path, lines) in try Self.files(in: folder) {
            // The last piece is what follows the last line's end: nothing.
            #expect(lines.count - 1 <= Self.mostLines, "\(path)")
        }
    }

    @Test func summariesBeginWithANounOrAVerb() throws {
        for (path, lines) in try Self.files(in: "Sources") {
            for (line, word) in Self.vagueSummaries(lines) {
                Issue.record("\(path):\(line): a summary begins with \(word)")
            }
        }
    }

    @Test func onlyTheFirstLineOfACommentIsASummary() {
        let source = """
            /// What it holds.
            let value = 1
                /// The value.
                /// What follows is a detail.
            // What a comment says.
            """
        let found = Self.vagueSummaries(source.split(separator: "\n", omittingEmptySubsequences: false))
        #expect(found.count == 1)
        #expect(found.first?.line == 1)
        #expect(found.first?.word == "What")
    }
}
