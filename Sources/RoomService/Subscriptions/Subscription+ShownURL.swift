import MixModel

extension Subscription {
    /// The URL without its query, where callbacks have their secrets.
    package var shownURL: String { url.firstIndex(of: "?").map { url[..<$0] + "?***" } ?? url }
}
