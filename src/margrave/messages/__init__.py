"""What people read on pages, in their language: one catalogue of messages for reports and the explorer."""
