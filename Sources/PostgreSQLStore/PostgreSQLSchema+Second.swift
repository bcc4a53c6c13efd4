extension PostgreSQLSchema {
    /// Several nodes at work on one store.
    static let second = "ALTER TABLE nodes ADD COLUMN profile text"
}
