/// An output of a program: a document of any kind.
public struct PlannedOutput: Hashable, Sendable {
    /// The name of an output within a plan.
    public struct Key: Hashable, Comparable, Sendable {
        /// `OutputDocument.kind`.
        public let kind: String
        public let id: OutputID

        public static func < (left: Key, right: Key) -> Bool { (left.kind, left.id) < (right.kind, right.id) }
    }

    public let document: any OutputDocument

    public init(_ document: some OutputDocument) { self.document = document }

    public var key: Key { Key(kind: type(of: document).kind, id: document.outputID) }

    public static func == (left: PlannedOutput, right: PlannedOutput) -> Bool { left.document.equals(right.document) }

    public func hash(into hasher: inout Hasher) { document.hash(into: &hasher) }
}

extension Equatable {
    fileprivate func equals(_ other: any OutputDocument) -> Bool { (other as? Self) == self }
    fileprivate func equals(_ other: any OutputStatusDocument) -> Bool { (other as? Self) == self }
}

/// The state of one output, of the same kind as the document that planned it.
public struct OutputStatus: Hashable, Sendable {
    public let document: any OutputStatusDocument

    public init(_ document: some OutputStatusDocument) { self.document = document }

    /// See `OutputStatusDocument.bounded`.
    public var bounded: OutputStatus { OutputStatus(document.bounded) }

    public static func == (left: OutputStatus, right: OutputStatus) -> Bool { left.document.equals(right.document) }

    public func hash(into hasher: inout Hasher) { document.hash(into: &hasher) }
}

extension Sequence<PlannedOutput> {
    /// Returns the documents of one kind, in order.
    public func of<Document: OutputDocument>(_ kind: Document.Type) -> [Document] {
        compactMap { $0.document as? Document }
    }

    /// Number of connections over which the outputs send the program (`OutputDocument.connections`).
    public var connections: Int { reduce(0) { $0 + $1.document.connections } }
}

extension Sequence<OutputStatus> {
    /// Returns the states of one kind of output, in order.
    public func of<Status: OutputStatusDocument>(_ kind: Status.Type) -> [Status] {
        compactMap { $0.document as? Status }
    }
}

extension Array where Element == PlannedOutput {
    /// Creates a list of documents of one kind.
    public init(_ documents: [some OutputDocument]) { self = documents.map { PlannedOutput($0) } }
}

extension Array where Element == OutputStatus {
    /// Creates a list of states of one kind of output.
    public init(_ statuses: [some OutputStatusDocument]) { self = statuses.map { OutputStatus($0) } }
}
