/// The key pair that signs requests to a storage. No text made of it holds the secret.
package struct StorageCredentials: Hashable, Sendable {
    /// Name of the key, which signed links show.
    package let accessKey: String
    let secretKey: String

    package init(accessKey: String, secretKey: String) {
        self.accessKey = accessKey
        self.secretKey = secretKey
    }
}

extension StorageCredentials: CustomStringConvertible, CustomDebugStringConvertible, CustomReflectable {
    package var description: String { "StorageCredentials(\(accessKey))" }
    package var debugDescription: String { description }
    package var customMirror: Mirror { Mirror(self, children: ["accessKey": accessKey]) }
}
