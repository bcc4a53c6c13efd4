/// An accepted version of a layout's content.
public struct LayoutVersion: Hashable, Codable, Sendable {
    /// The origin of a version.
    public enum Origin: String, Hashable, Codable, Sendable, CaseIterable {
        /// The file was saved.
        case file
        case api
        /// An older version was restored through the API.
        case rollback
    }

    public var layout: String
    /// Number of the version, from 1. It continues if a layout is deleted and created again.
    public var number: Int
    /// Time of the version, in seconds since 1970.
    public var at: Double
    public var origin: Origin
    /// Length of the content in bytes.
    public var length: Int
    /// Whether the version stands for the deletion of the layout, which the nodes of a cluster share; `nil` = no.
    /// Releases without this field find a version whose content is no layout.
    public var isDeletion: Bool?

    public init(
        layout: String, number: Int, at: Double, origin: Origin, length: Int, isDeletion: Bool? = nil
    ) {
        self.layout = layout
        self.number = number
        self.at = at
        self.origin = origin
        self.length = length
        self.isDeletion = isDeletion
    }
}

/// A version together with its content.
public struct NewLayoutVersion: Hashable, Sendable {
    public var version: LayoutVersion
    public var content: [UInt8]

    /// Creates a version whose length is that of the content.
    public init(layout: String, number: Int, at: Double, origin: LayoutVersion.Origin, content: [UInt8]) {
        version = LayoutVersion(layout: layout, number: number, at: at, origin: origin, length: content.count)
        self.content = content
    }

    /// Creates the version that stands for the deletion of a layout.
    public init(deletionOf layout: String, number: Int, at: Double) {
        // Not empty, and no JSON: no release reads it as a layout.
        self.init(layout: layout, number: number, at: at, origin: .api, content: Array("deleted".utf8))
        version.isDeletion = true
    }
}

/// An event of a layout, kept for operators.
public struct LayoutEvent: Hashable, Codable, Sendable {
    public enum Kind: String, Hashable, Codable, Sendable, CaseIterable {
        /// A different version is in use.
        case changed = "layout.changed"
        /// The file has errors: the last good version stays in use.
        case rejected = "layout.rejected"
        /// The file was deleted.
        case deleted = "layout.deleted"
    }

    public var layout: String
    /// Time of the event, in seconds since 1970.
    public var at: Double
    public var kind: Kind
    /// Version in use after the event; `nil` if there is none.
    public var version: Int?
    /// Human-readable message; may have several lines.
    public var message: String

    public init(layout: String, at: Double, kind: Kind, version: Int?, message: String) {
        self.layout = layout
        self.at = at
        self.kind = kind
        self.version = version
        self.message = message
    }
}
