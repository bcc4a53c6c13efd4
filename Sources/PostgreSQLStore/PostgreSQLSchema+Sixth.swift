extension PostgreSQLSchema {
    /// Sites of nodes, by which a copy of a machine differs from the next run of the same data directory.
    static let sixth = "ALTER TABLE nodes ADD COLUMN site text"
}
