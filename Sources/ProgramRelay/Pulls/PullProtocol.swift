import TextFormats

/// A kind of pull: the URLs that it accepts, its requirements, and how it is opened.
///
/// Everything that depends on the kinds reads `PullProtocols.all`: the relay, the doctor, the schemes that events may
/// name, and the documents. CONTRIBUTING.md describes how to add one.
package protocol PullProtocol: Sendable {
    /// Display name, such as `HTTP-FLV`.
    static var name: String { get }
    /// Text for the table in the README, on one line: format, codecs, limits.
    static var summary: String { get }
    /// Schemes of the URLs that it accepts.
    static var schemes: [PullScheme] { get }
    /// GStreamer elements that it needs; empty if it needs none.
    static var elements: [PullElement] { get }
    /// Default options.
    static var options: PullOptions { get }

    /// Returns whether it accepts this URL, which has one of its schemes.
    static func takes(_ url: String) -> Bool

    /// Begins to connect and returns at once. A pull that cannot be created ends with `.ended`, from another thread.
    static func open(_ request: PullRequest, onEvent: @escaping @Sendable (PullEvent) -> Void) -> any SourcePull
}

extension PullProtocol {
    package static var elements: [PullElement] { [] }
    package static var options: PullOptions { PullOptions() }
    package static func takes(_ url: String) -> Bool { true }

    /// Returns the scheme of a URL, if it is one of this kind; otherwise `nil`.
    static func scheme(of url: String) -> PullScheme? {
        guard let end = url.firstRange(of: "://")?.lowerBound else { return nil }
        let name = url[..<end].lowercased()
        return schemes.first { $0.name == name }
    }
}

/// A URL scheme of a kind of pull.
package struct PullScheme: Hashable, Sendable {
    /// Name in lower case, without `://`.
    package let name: String
    /// Port of a URL that names none; `nil` if it must name one, or has none.
    package let port: UInt16?
    /// Whether a certificate vouches for the name of the host.
    package let isSecure: Bool
    /// Whether a URL may name a user and a password before its host.
    package let takesCredentials: Bool

    package init(_ name: String, port: UInt16? = nil, isSecure: Bool = false, takesCredentials: Bool = false) {
        self.name = name
        self.port = port
        self.isSecure = isSecure
        self.takesCredentials = takesCredentials
    }
}

/// A GStreamer element that a kind of pull needs.
package struct PullElement: Hashable, Sendable {
    package let name: String
    /// The Debian package that contains it.
    package let package: String

    package init(_ name: String, package: String) {
        self.name = name
        self.package = package
    }
}
