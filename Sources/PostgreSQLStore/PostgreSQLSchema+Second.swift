extension PostgreSQLSchema {
    /// Support for several nodes on one store.
    static let second = "ALTER TABLE nodes ADD COLUMN profile text"
}
