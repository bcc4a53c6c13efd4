/// This node of a cluster, with its access to the others.
package struct ClusterAccess: Sendable {
    let node: ClusterNode
    let exchange: NodeExchange

    package init(node: ClusterNode, exchange: NodeExchange) {
        self.node = node
        self.exchange = exchange
    }
}
