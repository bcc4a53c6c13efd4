extension PostgreSQLSchema {
    /// Leases of a node ordered by name, so that rooms of lost nodes are found without reading the leases of other
    /// nodes.
    static let third = """
        CREATE INDEX leases_by_owner ON leases (owner, task) WHERE owner IS NOT NULL;
        DROP INDEX leases_of_owner;
        """
}
