/// Learns the cost of a process from its features, with a linear model whose coefficients are a prior times a learnt
/// factor.
///
/// The factors are learnt by a Kalman filter (recursive least squares, Haykin, Adaptive Filter Theory, §10) that begins
/// with the prior, so that features that never vary on this machine keep a plausible share. An observation counts for
/// no more than three standard deviations, so that a stall or a foreign load has little effect. Factors stay within
/// `factorRange`: no coefficient becomes negative or absurd, whatever is measured.
public struct CostEstimator: Hashable, Codable, Sendable {
    /// Cores for one unit of each feature before anything is learnt. Positive.
    public let prior: [Double]
    /// Learnt factors; 1 means that the prior is right.
    public private(set) var factors: [Double]
    /// Covariance of the factors, row by row.
    private var covariance: [Double]

    public static let factorRange = 0.1...10.0
    /// Standard deviation of a factor before anything is learnt.
    private static let priorDeviation = 0.5
    /// Variance added to each factor at an observation, because machines and codecs change slowly.
    private static let drift = 1e-5
    /// Standard deviation of an observation: a share for what the features do not capture (the content of the
    /// pictures), and cores for noise.
    private static let noise = (share: 0.12, cores: 0.004)
    /// Largest deviation that an observation may count for, in standard deviations.
    private static let mostSurprise = 3.0

    /// Creates an estimator that has learnt nothing.
    ///
    /// - Parameter prior: Cores for one unit of each feature, positive.
    public init(prior: [Double]) {
        self.prior = prior
        factors = Array(repeating: 1, count: prior.count)
        covariance = Array(repeating: 0, count: prior.count * prior.count)
        for index in prior.indices {
            covariance[index * prior.count + index] = Self.priorDeviation * Self.priorDeviation
        }
    }

    /// Cores for one unit of each feature.
    public var coefficients: [Double] { zip(prior, factors).map { $0 * $1 } }

    /// Returns the predicted cost, in cores. `features` has as many elements as the prior, none negative.
    public func predict(_ features: [Double]) -> Double { zip(features, coefficients).reduce(0) { $0 + $1.0 * $1.1 } }

    /// Learns from one measurement, in cores. A measurement that is negative or not finite is ignored.
    public mutating func learn(_ features: [Double], measured: Double) {
        guard features.count == prior.count, measured.isFinite, measured >= 0, features.allSatisfy(\.isFinite) else {
            return
        }
        let count = prior.count
        for index in 0..<count {
            let place = index * count + index
            covariance[place] = min(covariance[place] + Self.drift, Self.priorDeviation * Self.priorDeviation)
        }
        let weights = zip(features, prior).map { $0 * $1 }
        let expected = predict(features)
        // The covariance is symmetric.
        let spread = (0..<count).map { row in
            (0..<count).reduce(0) { $0 + covariance[row * count + $1] * weights[$1] }
        }
        let deviation = Self.noise.share * max(expected, measured / 4) + Self.noise.cores
        let variance = zip(weights, spread).reduce(0) { $0 + $1.0 * $1.1 } + deviation * deviation
        guard variance > 0 else { return }
        let limit = Self.mostSurprise * variance.squareRoot()
        let surprise = min(limit, max(-limit, measured - expected))
        for index in 0..<count {
            let factor = factors[index] + spread[index] / variance * surprise
            factors[index] = min(Self.factorRange.upperBound, max(Self.factorRange.lowerBound, factor))
        }
        for row in 0..<count {
            for column in 0..<count {
                covariance[row * count + column] -= spread[row] * spread[column] / variance
            }
            // Rounding must not make it negative.
            covariance[row * count + row] = max(covariance[row * count + row], 1e-9)
        }
    }

    /// Whether an estimator read from a file is usable with its prior: it has the right size, and its values are in
    /// range.
    public var isSound: Bool {
        factors.count == prior.count && covariance.count == prior.count * prior.count
            && factors.allSatisfy(Self.factorRange.contains) && covariance.allSatisfy(\.isFinite)
            && prior.indices.allSatisfy { covariance[$0 * prior.count + $0] > 0 }
    }
}
