// Package recorder holds what the recorders of all versions of Cluster API share.
package recorder

import ctrl "sigs.k8s.io/controller-runtime"

// Webhook is a provider's webhook for one kind.
type Webhook interface {
	SetupWebhookWithManager(mgr ctrl.Manager) error
}

// SetUp registers webhooks as the provider's own main function does.
func SetUp(mgr ctrl.Manager, webhooks ...Webhook) error {
	for _, hook := range webhooks {
		if err := hook.SetupWebhookWithManager(mgr); err != nil {
			return err
		}
	}
	return nil
}
