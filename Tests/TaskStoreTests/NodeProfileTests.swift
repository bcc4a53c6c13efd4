import Testing

@testable import TaskStore

@Suite struct NodeProfileTests {
    /// Profiles are read from releases that announced no ingest, and from later ones that announce more.
    @Test func profilesOfOtherReleasesAreRead() throws {
        let old = #"{"name":"b","url":"http://b:8080","key":"k","isDraining":false,"rooms":3}"#
        let profile = try #require(NodeProfile(storedText: old))
        #expect(profile.name == "b" && profile.ingest == nil && profile.capacity == nil && profile.publicURL == nil)
        let new = #"{"name":"b","url":"http://b:8080","key":"k","isDraining":true,"rooms":3,"ingest":"b:1935","x":1}"#
        #expect(NodeProfile(storedText: new)?.ingest == "b:1935")
        let own = NodeProfile(name: "a", url: "http://a", key: "k", ingest: "a:1935", publicURL: "https://a")
        #expect(NodeProfile(storedText: try own.storedText()) == own)
    }
}
