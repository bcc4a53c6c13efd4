import EventSubscription

/// An error that keeps the service from starting, with the remedy.
package struct StartupError: Error, CustomStringConvertible {
    package let description: String

    /// - Parameter description: Text for the operator. It is cut to 4096 bytes, because it may contain a value of the
    ///   configuration.
    package init(_ description: String) { self.description = description.shortened(toBytes: 4096) }
}
