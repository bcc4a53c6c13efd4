extension PostgreSQLSchema {
    /// A name for the cluster, by which operators tell it from others.
    static let seventh = "ALTER TABLE cluster ADD COLUMN name text"
}
