import Foundation
import TextFormats

/// A bucket of an S3-compatible storage, and the naming of the objects in it.
package struct StoragePlace: Hashable, Sendable {
    /// The position of the bucket's name in a request.
    package enum Style: String, CaseIterable, Sendable {
        /// At the beginning of the path, as in `https://storage.example/bucket/key`.
        case path
        /// Before the host, as in `https://bucket.storage.example/key`.
        case host
    }

    /// The reason why a place is invalid: the setting, the value found, and the values expected.
    package struct Fault: Error, Hashable, Sendable {
        package var field: String
        package var found: String
        package var expected: String
    }

    package let scheme: String
    /// Host of the endpoint, with its port unless that is the scheme's default.
    package let authority: String
    /// Path before everything else; empty, or begins with `/` and ends without it.
    let basePath: String
    package let region: String
    package let bucket: String
    package let style: Style
    /// Template of keys, with `{room}` and `{file}`.
    package let prefix: String

    package static let standardPrefix = "{room}/{file}"
    /// - Throws: `Fault`, which names the setting without its group.
    package init(
        endpoint: String, region: String, bucket: String, style: Style, prefix: String = standardPrefix
    ) throws(Fault) {
        let parts = URLComponents(string: endpoint)
        guard let parts, let scheme = parts.scheme?.lowercased(), scheme == "http" || scheme == "https",
            let host = parts.host, !host.isEmpty, parts.user == nil, parts.password == nil, parts.query == nil,
            parts.fragment == nil
        else {
            // It may contain a password.
            throw Fault(
                field: "endpoint", found: "another text",
                expected: "https://host[:port] of the storage, without the bucket and without a user")
        }
        self.scheme = scheme
        let isOwnPort = parts.port == nil || parts.port == (scheme == "http" ? 80 : 443)
        let name = host.contains(":") && !host.hasPrefix("[") ? "[\(host)]" : host.lowercased()
        authority = name + (isOwnPort ? "" : ":\(parts.port ?? 0)")
        basePath = parts.percentEncodedPath.split(separator: "/").map { "/\($0)" }.joined()
        guard Self.isWord(region, extra: "-_", most: 64) else {
            throw Fault(field: "region", found: "\"\(region)\"", expected: "a region, as in us-east-1")
        }
        self.region = region
        guard Self.isWord(bucket, extra: style == .host ? "-." : "-._", most: 255) else {
            throw Fault(field: "bucket", found: "\"\(bucket)\"", expected: "the name of a bucket")
        }
        (self.bucket, self.style) = (bucket, style)
        guard ["{room}", "{file}"].allSatisfy({ prefix.ranges(of: $0).count == 1 }), prefix.utf8.count <= 256,
            prefix.utf8.allSatisfy({ 0x20...0x7E ~= $0 }),
            prefix.split(separator: "/", omittingEmptySubsequences: false).allSatisfy({ !["", ".", ".."].contains($0) })
        else {
            throw Fault(
                field: "prefix", found: "\"\(prefix)\"",
                expected:
                    "at most 256 ASCII characters with {room} and {file} once each, without an empty part, . and .., "
                    + "as in recordings/{room}/{file}")
        }
        self.prefix = prefix
    }

    /// The endpoint for display; no part of it is a secret.
    package var endpoint: String { "\(scheme)://\(authority)\(basePath)" }

    /// Whether the connection is unencrypted, so that others on the network path can read what is sent.
    package var isReadable: Bool {
        scheme == "http" && !["localhost", "127.0.0.1"].contains(authority.prefix { $0 != ":" })
            && !authority.hasPrefix("[::1]")
    }

    /// Returns the key of a file.
    ///
    /// - Parameters:
    ///   - room: Name of a room as used for directories (`FileName.safe`), unique to the room.
    ///   - file: Name of a file, at most 250 bytes, without `/`.
    package func key(room: String, file: String) -> String {
        prefix.replacing("{file}", with: file).replacing("{room}", with: room)
    }

    /// Value of the `Host` header.
    var host: String { style == .host ? "\(bucket).\(authority)" : authority }

    /// Returns the path of an object's URL, percent-encoded.
    func path(of key: String) -> String {
        let parts = (style == .path ? [bucket] : []) + key.split(separator: "/").map(String.init)
        return basePath + "/" + parts.map(PercentEncoding.encoded).joined(separator: "/")
    }

    private static func isWord(_ text: String, extra: String, most: Int) -> Bool {
        1...most ~= text.utf8.count
            && text.utf8.allSatisfy { byte in
                UInt8(ascii: "a")...UInt8(ascii: "z") ~= byte | 0x20 || UInt8(ascii: "0")...UInt8(ascii: "9") ~= byte
                    || extra.utf8.contains(byte)
            }
    }
}
