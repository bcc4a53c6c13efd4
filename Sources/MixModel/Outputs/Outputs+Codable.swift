/// Reads and writes lists of outputs of all kinds, each kind in its own field of the object.
///
/// The reader ignores the fields of kinds that are not listed, as a relay of an earlier release ignores kinds that it
/// does not have.
extension Array where Element == PlannedOutput {
    init(from object: KeyedDecodingContainer<FieldName>, of kinds: [any OutputDocument.Type]) throws {
        func read<Document: OutputDocument>(_ kind: Document.Type) throws -> [PlannedOutput] {
            [PlannedOutput](try kind.planField.values(of: kind, in: object))
        }
        self = try kinds.flatMap { try read($0) }
    }

    func encode(to object: inout KeyedEncodingContainer<FieldName>, of kinds: [any OutputDocument.Type]) throws {
        for kind in kinds { try write(kind, to: &object) }
    }

    private func write<Document: OutputDocument>(
        _ kind: Document.Type, to object: inout KeyedEncodingContainer<FieldName>
    ) throws {
        try kind.planField.encode(of(kind), to: &object)
    }
}

extension Array where Element == OutputStatus {
    init(from object: KeyedDecodingContainer<FieldName>, of kinds: [any OutputDocument.Type]) throws {
        func read<Document: OutputDocument>(_ kind: Document.Type) throws -> [OutputStatus] {
            [OutputStatus](try kind.statusField.values(of: Document.Status.self, in: object))
        }
        self = try kinds.flatMap { try read($0) }
    }

    func encode(to object: inout KeyedEncodingContainer<FieldName>, of kinds: [any OutputDocument.Type]) throws {
        for kind in kinds { try write(kind, to: &object) }
    }

    private func write<Document: OutputDocument>(
        _ kind: Document.Type, to object: inout KeyedEncodingContainer<FieldName>
    ) throws {
        try kind.statusField.encode(of(Document.Status.self), to: &object)
    }
}
