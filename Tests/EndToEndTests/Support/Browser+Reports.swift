import Foundation

/// The watch page and the publish page report their state once a second if their addresses say `figures`.
extension Browser {
    /// A report of the watch page.
    struct Watched: Decodable {
        var frames: Int
        var connections: Int
        /// Number of times that the player had no picture to show.
        var waits: Int
        /// Longest time between two pictures on the screen, in ms.
        var longest: Double
        /// Number of intervals between two pictures that are longer than 150 ms.
        var slow: Int
        var shown: Int
        var dropped: Int
        var size: String
        /// Distance from the newest picture, in seconds.
        var behind: Double?
        /// Number of viewers, as text.
        var viewers: String?
        /// The sentence that tells who is on air, and the names over the panes.
        var people: String?
        var names: [String]
        var words: String
    }

    /// A report of the publish page about the other participants.
    struct Published: Decodable {
        struct Other: Decodable {
            var user: String
            var pictures: Int
        }
        var others: [Other]
        var words: String
    }

    /// Returns the newest report of a watch page.
    static func watched(by page: ManagedProcess) -> Watched? { (logged("WATCH ", by: page) as [Watched]).last }

    /// Returns the newest report of a publish page.
    static func published(by page: ManagedProcess) -> Published? { (logged("PUBLISH ", by: page) as [Published]).last }

    /// Opens a watch page. Returns once it has shown more than this number of pictures.
    func watch(_ url: String, pictures: Int) async throws -> ManagedProcess {
        let page = try open(url)
        try await waitUntil("\(url) plays: \(String(describing: Self.watched(by: page)))\n\(page.messages())") {
            (Self.watched(by: page)?.shown ?? 0) > pictures
        }
        return page
    }

    /// Opens a publish page whose address says `live`. Returns once it is live.
    ///
    /// - Parameter options: Additional command-line options of Chromium.
    func publish(_ url: String, options: [String] = []) async throws -> ManagedProcess {
        let page = try open(url, options: options)
        try await Self.wait(for: "You are live.", at: page)
        return page
    }

    /// Suspends until a publish page says this.
    static func wait(for words: String, at page: ManagedProcess) async throws {
        try await waitUntil("the page says “\(words)”\n\(page.messages())") { published(by: page)?.words == words }
    }
}
