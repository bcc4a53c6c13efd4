extension PostgreSQLSchema {
    /// Leases of a node in the order of their names, so that rooms of lost nodes are found without a look at those of others.
    static let third = """
        CREATE INDEX leases_by_owner ON leases (owner, task) WHERE owner IS NOT NULL;
        DROP INDEX leases_of_owner;
        """
}
