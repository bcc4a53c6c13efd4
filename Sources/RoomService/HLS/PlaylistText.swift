/// Rewrites playlists for viewers.
package enum PlaylistText {
    /// Returns the playlist with `change` applied to every URI.
    package static func mapping(_ text: String, _ change: (String) -> String) -> String {
        text.split(separator: "\n", omittingEmptySubsequences: false).map { line in
            line.isEmpty || line.hasPrefix("#") ? String(line) : change(String(line))
        }.joined(separator: "\n")
    }
}
