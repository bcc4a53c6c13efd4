import MixModel

extension Subscription {
    /// The URL without its query, because callbacks often have secrets there.
    package var shownURL: String { url.firstIndex(of: "?").map { url[..<$0] + "?***" } ?? url }
}
