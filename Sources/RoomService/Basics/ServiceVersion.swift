/// The version of this service.
package enum ServiceVersion {
    package static let text = "0.4.0"
}
