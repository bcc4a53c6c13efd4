import Foundation
import Testing

@testable import ObjectStorage

struct StoragePlaceTests {
    private static func place(
        _ endpoint: String, bucket: String = "b", style: StoragePlace.Style = .path,
        prefix: String = StoragePlace.standardPrefix
    ) throws(StoragePlace.Fault) -> StoragePlace {
        try StoragePlace(endpoint: endpoint, region: "us-east-1", bucket: bucket, style: style, prefix: prefix)
    }

    @Test(arguments: [
        ("http://127.0.0.1:9000", StoragePlace.Style.path, "http://127.0.0.1:9000/b/demo/a.mp4"),
        ("HTTPS://S3.Example:443/", .path, "https://s3.example/b/demo/a.mp4"),
        ("https://s3.example", .host, "https://b.s3.example/demo/a.mp4"),
        ("https://s3.example:8443/base//path/", .path, "https://s3.example:8443/base/path/b/demo/a.mp4"),
        ("http://[::1]:9000", .path, "http://[::1]:9000/b/demo/a.mp4"),
    ]) func objectsHaveURLs(endpoint: String, style: StoragePlace.Style, url: String) throws {
        let place = try Self.place(endpoint, style: style)
        let request = StorageCall.look.request(
            for: place.key(room: "demo", file: "a.mp4"), type: "video/mp4", at: place,
            as: StorageCredentials(accessKey: "a", secretKey: "s"), seconds: 0)
        #expect(request.url == url)
        #expect(request.headers.contains { $0 == ("host", place.host) })
    }

    @Test func keysAreEncodedInPaths() throws {
        let place = try Self.place("http://h", prefix: "re c/ä{room}".replacing("ä", with: "+") + "/{file}")
        #expect(place.key(room: "Zo~c3~ab", file: "x.mp4") == "re c/+Zo~c3~ab/x.mp4")
        #expect(place.path(of: place.key(room: "Zo~c3~ab", file: "x.mp4")) == "/b/re%20c/%2BZo~c3~ab/x.mp4")
        // A room's name is not treated as a placeholder of the template.
        #expect(place.key(room: "{file}", file: "y") == "re c/+{file}/y")
    }

    @Test(arguments: [
        "", "storage.example", "ftp://h", "https://", "https://user:S3CR3T@h", "https://h?x=S3CR3T", "https://h#S3CR3T",
    ]) func whatIsNoEndpointIsRefusedUnquoted(endpoint: String) {
        #expect {
            try Self.place(endpoint)
        } throws: {
            let fault = $0 as? StoragePlace.Fault
            return fault?.field == "endpoint" && fault?.found == "another text"
        }
    }

    @Test(arguments: [
        "{file}", "{room}", "/{room}/{file}", "{room}//{file}", "../{room}/{file}", "{room}/{file}/", "ä/{room}/{file}",
        "{room}/{room}/{file}", "", String(repeating: "x", count: 250) + "{room}/{file}",
    ]) func prefixesWithoutBothNamesAreRefused(prefix: String) {
        #expect { try Self.place("https://h", prefix: prefix) } throws: {
            ($0 as? StoragePlace.Fault)?.field == "prefix"
        }
    }

    @Test func bucketsHaveNamesThatAHostMayHave() throws {
        for bucket in ["", "a/b", "a b", "ä", String(repeating: "a", count: 256)] {
            #expect { try Self.place("https://h", bucket: bucket) } throws: {
                ($0 as? StoragePlace.Fault)?.field == "bucket"
            }
        }
        _ = try Self.place("https://h", bucket: "My_Bucket")
        #expect(throws: StoragePlace.Fault.self) { try Self.place("https://h", bucket: "My_Bucket", style: .host) }
    }

    @Test func everyoneCanReadWhatGoesOverHTTPToOtherMachines() throws {
        #expect(try Self.place("http://storage.example").isReadable)
        for endpoint in ["https://storage.example", "http://127.0.0.1:9000", "http://localhost", "http://[::1]:9000"] {
            #expect(try !Self.place(endpoint).isReadable, "\(endpoint)")
        }
    }
}
