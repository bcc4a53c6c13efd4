import MixModel

/// Shows an identifier to its tenant: as the name alone.
@propertyWrapper struct TenantName<ID: TenantIdentifier>: Encodable {
    var wrappedValue: ID

    func encode(to encoder: any Encoder) throws {
        var container = encoder.singleValueContainer()
        try container.encode(wrappedValue.name)
    }
}
