/// This node of a cluster, and its way to the others.
package struct ClusterAccess: Sendable {
    let node: ClusterNode
    let exchange: NodeExchange

    package init(node: ClusterNode, exchange: NodeExchange) {
        self.node = node
        self.exchange = exchange
    }
}
