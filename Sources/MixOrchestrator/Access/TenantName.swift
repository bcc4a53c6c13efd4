import MixModel

/// Encodes an identifier for its tenant as the name alone, without the app.
@propertyWrapper struct TenantName<ID: TenantIdentifier>: Encodable {
    var wrappedValue: ID

    func encode(to encoder: any Encoder) throws {
        var container = encoder.singleValueContainer()
        try container.encode(wrappedValue.name)
    }
}
