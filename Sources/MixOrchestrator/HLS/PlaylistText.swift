/// Playlists as viewers get them.
enum PlaylistText {
    /// The playlist with every URI put through `change`.
    static func mapping(_ text: String, _ change: (String) -> String) -> String {
        text.split(separator: "\n", omittingEmptySubsequences: false).map { line in
            line.isEmpty || line.hasPrefix("#") ? String(line) : change(String(line))
        }.joined(separator: "\n")
    }
}
