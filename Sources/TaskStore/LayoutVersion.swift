/// One accepted content of a layout.
public struct LayoutVersion: Hashable, Codable, Sendable {
    /// Who made a version.
    public enum Origin: String, Hashable, Codable, Sendable, CaseIterable {
        /// Somebody saved the file.
        case file
        case api
        /// An older version was taken back by API.
        case rollback
    }

    public var layout: String
    /// 1 for the first of a layout; goes on when a layout is deleted and made again.
    public var number: Int
    /// Seconds since 1970.
    public var at: Double
    public var origin: Origin
    /// Of the content, in bytes.
    public var length: Int

    public init(layout: String, number: Int, at: Double, origin: Origin, length: Int) {
        self.layout = layout
        self.number = number
        self.at = at
        self.origin = origin
        self.length = length
    }
}

/// A version together with what it consists of.
public struct NewLayoutVersion: Hashable, Sendable {
    public var version: LayoutVersion
    public var content: [UInt8]

    /// The version's length is that of the content.
    public init(layout: String, number: Int, at: Double, origin: LayoutVersion.Origin, content: [UInt8]) {
        version = LayoutVersion(layout: layout, number: number, at: at, origin: origin, length: content.count)
        self.content = content
    }
}

/// Something that happened to a layout, kept for operators.
public struct LayoutEvent: Hashable, Codable, Sendable {
    public enum Kind: String, Hashable, Codable, Sendable, CaseIterable {
        /// Another content is in use.
        case changed = "layout.changed"
        /// The file has errors: the last good version stays in use.
        case rejected = "layout.rejected"
        /// The file is gone.
        case deleted = "layout.deleted"
    }

    public var layout: String
    /// Seconds since 1970.
    public var at: Double
    public var kind: Kind
    /// In use after the event; `nil` when there is none.
    public var version: Int?
    /// For people; may have several lines.
    public var message: String

    public init(layout: String, at: Double, kind: Kind, version: Int?, message: String) {
        self.layout = layout
        self.at = at
        self.kind = kind
        self.version = version
        self.message = message
    }
}
